/** Workloads of the engine in the form of API resources. */
import { acceleratorsIn, partsOf, rulesOf, storedCheckpoints, taskCountOf, waitingTasksOf } from "@headroom/model";
import type {
  Attempt as EngineAttempt,
  AttemptProgress,
  EndReason,
  EndedAttempt,
  Nomination,
  Workload as EngineWorkload,
  WorkerExit,
} from "@headroom/model";
import { canRerun, predictedRun, waitingTaskCount } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import { ACTIVE_ATTEMPTS_SHOWN_MAX } from "@headroom/protocol";
import type { Attempt, Workload, WorkloadSummary } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";
import { checkpointIntervalFor, intervalSentence } from "./submission-notices.ts";
import type { NewestReports } from "./telemetry/newest-reports.ts";
import { specResource } from "./wire-forms.ts";

/** Maximum number of listed tasks in back-off. A batch of a million tasks could have as many. */
const RETRIES_SHOWN_MAX = 100;

/** Tasks that are neither active nor ended; after a stop no further task starts. */
function waitingTasks(workload: EngineWorkload): number {
  return workload.endedAtMs === null ? waitingTaskCount(workload) : 0;
}

export function exitSentence(exit: WorkerExit): string {
  const { worker, outOfMemoryMib } = exit;
  const how =
    exit.kind === "exited"
      ? `worker ${worker} exited with code ${exit.code}`
      : `worker ${worker} was killed by ${exit.signal}`;
  return outOfMemoryMib === undefined
    ? how
    : `worker ${worker} ran out of memory: it reached its limit of ${grouped(outOfMemoryMib)} MiB (${how})`;
}

const expected = { ok: "succeeded", failed: "failed", any: "ended", artifact: "had produced its input" } as const;

/** Why the workload ended, as a sentence. */
export function endSentence({ workloads }: ReadonlyState, { spec }: EngineWorkload, reason: EndReason): string {
  switch (reason.kind) {
    case "allTasksSucceeded":
      return spec.kind === "batch" ? `All ${plural(spec.taskCount, "task")} succeeded.` : "It succeeded.";
    case "tasksFailed":
      return `${grouped(reason.failedCount)} of ${plural(taskCountOf(spec), "task")} failed for good.`;
    case "retriesExhausted": {
      if (reason.failures === 1) return `It failed${reason.exit === null ? "" : `: ${exitSentence(reason.exit)}`}.`;
      const last = reason.exit === null ? "" : `; the last time ${exitSentence(reason.exit)}`;
      return `It failed ${plural(reason.failures, "time")}${last}.`;
    }
    case "walltimeExceeded":
      return `It ran longer than its walltime of ${durationText(reason.walltimeMs)}.`;
    case "cancelled":
      return "It was stopped on request.";
    case "dependencyNotMet":
      return dependencySentence(workloads.get(reason.workloadId), reason);
    default:
      return unreachable(reason);
  }
}

/** `other`: the workload that this one waits for; `undefined`: it is unknown here. */
export function dependencySentence(
  other: EngineWorkload | undefined,
  { workloadId, on }: { readonly workloadId: string; readonly on: keyof typeof expected },
): string {
  const name = other === undefined ? workloadId : `${other.spec.name} (${workloadId})`;
  const outcome = other === undefined || other.endedAtMs === null ? "ended otherwise" : `ended: ${other.phase}`;
  return `Dependency failed: it was to start once ${name} ${expected[on]}, but that workload ${outcome}.`;
}

/** Newest reports from the telemetry store. Without them, the estimates in the journal are shown. */
export type Reports = Pick<NewestReports, "get">;

const noReports: Reports = { get: () => undefined };

/** The newest report among the newest active attempts. */
function newestProgress(state: ReadonlyState, workload: EngineWorkload, reports: Reports): AttemptProgress | null {
  let newest: AttemptProgress | null = null;
  for (const id of workload.activeAttempts.slice(-ACTIVE_ATTEMPTS_SHOWN_MAX)) {
    const progress = reports.get(id)?.progress ?? state.attempts.get(id)?.progress ?? null;
    if (progress !== null && (newest === null || progress.atMs >= newest.atMs)) newest = progress;
  }
  return newest;
}

const SUMMARY_NODES_MAX = 8;

function placeSummary(
  state: ReadonlyState,
  { spec, activeAttempts, endedAttempts }: EngineWorkload,
): Pick<WorkloadSummary, "nodes" | "acceleratorMs"> {
  const nodes = new Set<string>();
  let acceleratorMs = 0;
  const add = (workers: EndedAttempt["workers"], spanMs: number): void => {
    acceleratorMs += acceleratorsIn(partsOf(spec.gang, workers)) * Math.max(0, spanMs);
  };
  for (const { workers, placedAtMs, endedAtMs } of endedAttempts) add(workers, endedAtMs - placedAtMs);
  for (const id of activeAttempts) {
    const attempt = state.attempts.get(id);
    if (attempt === undefined) continue;
    add(attempt.workers, state.nowMs - attempt.placedAtMs);
    for (const { node } of attempt.workers) if (nodes.size < SUMMARY_NODES_MAX) nodes.add(node);
  }
  return { nodes: [...nodes], acceleratorMs };
}

export function workloadSummary(
  state: ReadonlyState,
  workload: EngineWorkload,
  reports: Reports = noReports,
): WorkloadSummary {
  const { spec } = workload;
  return {
    id: workload.id,
    name: spec.name,
    team: spec.team,
    kind: spec.kind,
    phase: workload.phase,
    actor: workload.actor,
    priority: spec.priority,
    gang: specResource(spec).gang,
    acceleratorTypes: [...spec.acceleratorTypes],
    tasks: {
      total: workload.scale?.replicas ?? taskCountOf(spec),
      waiting: waitingTasks(workload),
      active: workload.activeAttempts.length,
      succeeded: workload.succeededCount,
      failed: workload.failedCount,
    },
    ...replicasView(state, workload),
    stopRequested: workload.stopRequested,
    ...(workload.held === true ? { held: true as const } : {}),
    ...placeSummary(state, workload),
    submittedAtMs: workload.submittedAtMs,
    firstStartedAtMs: workload.firstStartedAtMs,
    endedAtMs: workload.endedAtMs,
    endReason: workload.endReason,
    rerunnable: canRerun(workload),
    ...(workload.rerun === undefined ? {} : { rerun: { ...workload.rerun } }),
    endSentence: workload.endReason === null ? null : endSentence(state, workload, workload.endReason),
    progress: progressView(newestProgress(state, workload, reports)),
    ...lastAttempt(workload),
  };
}

function replicasView(
  { attempts }: ReadonlyState,
  { spec, scale, activeAttempts }: EngineWorkload,
): Partial<Pick<WorkloadSummary, "replicas">> {
  if (spec.kind !== "serve" || scale === undefined) return {};
  const { replicas: wanted, from, atMs, actor, ground } = scale;
  const ready = activeAttempts.filter((id) => isServing(attempts.get(id))).length;
  return { replicas: { ...spec.replicas, wanted, ready, lastChange: { from, atMs, actor, ground: { ...ground } } } };
}

/** Whether the replica takes new requests: it is ready and not being stopped. */
export const isServing = (attempt: EngineAttempt | undefined): boolean =>
  attempt?.ready !== undefined && attempt.stop === null;

/** The task of an array that ended last may have succeeded although another one made the array fail. */
function lastAttempt({
  endedAtMs,
  endedAttempts,
  phase,
}: EngineWorkload): Partial<Pick<WorkloadSummary, "lastAttempt">> {
  const newest = endedAtMs === null ? undefined : endedAttempts.at(-1);
  const failed = phase === "failed" ? endedAttempts.findLast(({ exit }) => exit !== null) : undefined;
  const last = newest?.exit === null ? (failed ?? newest) : newest;
  if (last === undefined) return {};
  const nodes = [...new Set(last.workers.map(({ node }) => node))].slice(0, SUMMARY_NODES_MAX);
  return { lastAttempt: { nodes, exit: last.exit } };
}

const progressView = (progress: AttemptProgress | null): WorkloadSummary["progress"] =>
  progress === null ? null : { ...progress, metrics: { ...progress.metrics } };

export function activeAttemptView(attempt: EngineAttempt, reports: Reports = noReports): Attempt {
  const { id, workloadId, task, number, acceleratorType, placedAtMs, startedAtMs, phase, stop } = attempt;
  const workers = attempt.workers.map((worker) => ({ ...worker }));
  const common = { id, workloadId, task, number, acceleratorType, workers, placedAtMs, startedAtMs };
  const terminating = attempt.terminating?.map((worker) => ({ ...worker }));
  const joining = attempt.joining && [...attempt.joining];
  const newest = reports.get(id);
  const used = newest?.utilization ?? attempt.utilization;
  const utilization = used && { ...used };
  const { prediction } = attempt;
  const joinFailure = attempt.joinFailure && { ...attempt.joinFailure };
  const told = {
    ...(attempt.launchAtMs === undefined ? {} : { launchAtMs: attempt.launchAtMs }),
    ...(attempt.ready === undefined ? {} : { ready: { ...attempt.ready } }),
    ...(terminating && { terminating }),
    ...(prediction && { prediction: { ...prediction } }),
    ...(joining && { joining }),
    ...(utilization && { utilization }),
    ...(joinFailure && { joinFailure }),
  };
  return { phase, ...common, progress: progressView(newest?.progress ?? attempt.progress), stop, ...told };
}

/** Nominations of the workload. There are few at any time, so a search through all of them is enough. */
function nominationsOf(state: ReadonlyState, id: EngineWorkload["id"]): readonly Nomination[] {
  return [...state.nominations.values()].filter(({ workloadId }) => workloadId === id);
}

function endedAttemptView(workload: EngineWorkload, attempt: EndedAttempt): Attempt {
  const workers = attempt.workers.map((worker) => ({ ...worker }));
  return { phase: "ended", ...attempt, workloadId: workload.id, workers };
}

/** The workload; `null`: it does not exist, or it has expired and only the journal has it. */
export function workloadView(state: ReadonlyState, id: string, reports: Reports = noReports): Workload | null {
  const workload = state.workloads.get(id as EngineWorkload["id"]);
  if (workload === undefined) return null;
  const active = workload.activeAttempts.slice(-ACTIVE_ATTEMPTS_SHOWN_MAX).flatMap((attemptId) => {
    const attempt = state.attempts.get(attemptId);
    return attempt === undefined ? [] : [activeAttemptView(attempt, reports)];
  });
  const waits = waitingTasks(workload) > 0;
  const prediction = waits ? predictedRun(rulesOf(state.policy), state.runTimes, workload) : null;
  return {
    ...workloadSummary(state, workload, reports),
    spec: specResource(workload.spec),
    attempts: [...workload.endedAttempts.map((attempt) => endedAttemptView(workload, attempt)), ...active],
    retries: waitingTasksOf(workload)
      .slice(0, RETRIES_SHOWN_MAX)
      .map(({ index, retryAtMs, failureCount }) => ({ task: index, notBeforeMs: retryAtMs, failures: failureCount })),
    nominations: nominationsOf(state, workload.id).map(({ task, growth, acceleratorType, workers, atMs }) => ({
      task,
      growth,
      acceleratorType,
      workers: workers.map((worker) => ({ ...worker })),
      atMs,
    })),
    checkpoint: workload.checkpoint,
    ...storedCheckpointView(state, workload),
    ...(workload.spec.checkpointEvery === "auto" && workload.endedAtMs === null
      ? { checkpointInterval: intervalView(state, workload) }
      : {}),
    ...(prediction === null ? {} : { prediction }),
    ...(workload.artifacts === undefined ? {} : { artifacts: workload.artifacts.map((each) => ({ ...each })) }),
  };
}

function storedCheckpointView(state: ReadonlyState, { spec, id }: EngineWorkload): Pick<Workload, "storedCheckpoint"> {
  if (spec.checkpointStore === undefined) return {};
  const versions = storedCheckpoints(state, spec, id);
  const newest = versions.at(-1);
  if (newest === undefined) return {};
  const store = newest.places.find((place) => place.state === "verified")?.store ?? "";
  const { producer, bytes } = newest;
  const keptCount = versions.length;
  return {
    storedCheckpoint: { version: newest.id, step: producer?.step ?? 0, store, bytes: bytes ?? 0, keptCount },
  };
}

function intervalView(
  state: ReadonlyState,
  { spec, activeAttempts }: EngineWorkload,
): NonNullable<Workload["checkpointInterval"]> {
  const running = activeAttempts.map((id) => state.attempts.get(id)).at(-1);
  const nodeCount = running === undefined ? undefined : new Set(running.workers.map(({ node }) => node)).size;
  const interval = checkpointIntervalFor(state, spec, nodeCount);
  return { everyMs: interval.everyMs, sentence: intervalSentence(interval) };
}

function unreachable(value: never): never {
  throw new Error(`unhandled: ${JSON.stringify(value)}`);
}
