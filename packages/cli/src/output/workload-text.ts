/** Workloads as text for tables and detail pages. */
import type { Attempt, ClosedBy, StopReason, WorkerAllocation, Workload, WorkloadSummary } from "@headroom/protocol";
import { closedByText, gangSizeText, partForm, predictionText, resourceTexts, stagingText } from "@headroom/views/text";
import { ago, coresText, instant, plural, shortDuration } from "./amounts.ts";
import type { Paint, Tone } from "./style.ts";
import { pairLines, tableLines, type Cell, type Column } from "./table.ts";
import { bytesText } from "../size/quantities.ts";
import { printable } from "../terminal.ts";
import type { Sink } from "../terminal.ts";

const phaseTones: Readonly<Record<WorkloadSummary["phase"], Tone>> = {
  pending: "yellow",
  running: "green",
  stopping: "yellow",
  succeeded: "blue",
  failed: "red",
  cancelled: "dim",
};

export function phaseCell({ phase }: Pick<WorkloadSummary, "phase">): Cell {
  return { text: phase, tone: phaseTones[phase] };
}

/**
 * Request such as `4 × 8 H100`, `2–8 × 1` or `1 × 0.5`: workers (minimum and maximum if elastic), accelerators of each
 * worker, types.
 */
export function gangText({ gang, acceleratorTypes }: Pick<WorkloadSummary, "gang" | "acceleratorTypes">): string {
  if (gang.taskGroups !== undefined) {
    const texts = gang.taskGroups.map(
      (group) =>
        `${group.name} ${gangText({ gang: group, acceleratorTypes: group.acceleratorTypes ?? acceleratorTypes })}`,
    );
    return texts.join(" + ");
  }
  const types = acceleratorTypes.length === 0 ? "" : ` ${acceleratorTypes.join("|")}`;
  const workers = gang.minWorkers === undefined ? `${gang.workers}` : `${gang.minWorkers}–${gang.workers}`;
  const accelerators = partForm(gang)?.short ?? gang.accelerators;
  return accelerators === 0 ? `${workers} × cpu` : `${workers} × ${accelerators}${types}`;
}

export function progressText(workload: WorkloadSummary): string {
  const { tasks, progress, kind } = workload;
  if (workload.replicas !== undefined) return readyText(workload.replicas);
  if (kind === "batch")
    return `${tasks.succeeded}/${tasks.total} tasks${tasks.failed > 0 ? `, ${tasks.failed} failed` : ""}`;
  if (progress === null) return "";
  const steps = progress.totalSteps === null ? `step ${progress.step}` : `step ${progress.step}/${progress.totalSteps}`;
  const loss = progress.metrics["loss"];
  return loss === undefined ? steps : `${steps}, loss ${loss.toFixed(3)}`;
}

/** `ready 2 of 3`. */
const readyText = ({ ready, wanted }: NonNullable<WorkloadSummary["replicas"]>): string =>
  `ready ${ready} of ${wanted}`;

/** State of the workload in one line: why it ended, or since when it runs or waits. */
function stateText(workload: WorkloadSummary, nowMs: number): string {
  if (workload.endSentence !== null) return workload.endSentence;
  const since = workload.firstStartedAtMs;
  if (since === null) return `waits since ${shortDuration(nowMs - workload.submittedAtMs)}`;
  return `started ${ago(since, nowMs)}`;
}

/** The detail page of one workload, without its verdict and its attempts. */
export function workloadPairs(workload: Workload, nowMs: number, paint: Paint): string[] {
  const { spec } = workload;
  const pairs: [string, string][] = [
    ["id", workload.id],
    ["kind", workload.kind === "batch" ? `batch of ${workload.tasks.total} tasks` : workload.kind],
    ["team", workload.team],
    [
      "phase",
      workload.stopRequested && workload.endedAtMs === null ? `${workload.phase} (stop requested)` : workload.phase,
    ],
    ["state", stateText(workload, nowMs)],
    ["submitted", `${instant(workload.submittedAtMs)} by ${workload.actor}`],
  ];
  if (workload.firstStartedAtMs !== null) pairs.push(["started", instant(workload.firstStartedAtMs)]);
  if (workload.endedAtMs !== null) {
    pairs.push([
      "ended",
      `${instant(workload.endedAtMs)}, after ${shortDuration(workload.endedAtMs - workload.submittedAtMs)}`,
    ]);
  }
  pairs.push(["gang", gangSentence(workload)]);
  if (workload.replicas !== undefined) {
    const { min, max } = workload.replicas;
    pairs.push(["replicas", `${readyText(workload.replicas)} (between ${min} and ${max})`]);
  }
  if (workload.kind === "batch") pairs.push(["tasks", tasksSentence(workload)]);
  if (spec.priority !== 0) pairs.push(["priority", String(spec.priority)]);
  if (spec.walltimeMs !== null) pairs.push(["walltime", shortDuration(spec.walltimeMs)]);
  const prediction = predictionOf(workload);
  if (prediction !== null) pairs.push(["duration", predictionText(prediction, spec.walltimeMs)]);
  pairs.push(["retries", retriesText(spec)], ["command", spec.run.split("\n")[0] ?? ""]);
  if (spec.dir !== null) pairs.push(["directory", spec.dir]);
  const progress = progressText(workload);
  if (progress !== "") pairs.push(["progress", progress]);
  if (workload.checkpoint !== null) {
    const { step, path, atMs } = workload.checkpoint;
    pairs.push(["checkpoint", `step ${step}, ${ago(atMs, nowMs)}: ${path}`]);
  }
  if (workload.storedCheckpoint !== undefined) {
    const { step, store, bytes, keptCount } = workload.storedCheckpoint;
    pairs.push(["stored", `step ${step} in ${store} (${bytesText(bytes)}), ${plural(keptCount, "checkpoint")} kept`]);
  }
  if (workload.checkpointInterval !== undefined) pairs.push(["interval", workload.checkpointInterval.sentence]);
  return pairLines(pairs, paint);
}

/** Replicas are never given up, whatever the maximum of retries is. */
function retriesText({ kind, retries, graceTimeoutMs }: Workload["spec"]): string {
  const count = kind === "serve" ? "always" : `at most ${retries.max}`;
  return `${count}, the first after ${retries.backoffMs / 1_000} s; grace period ${graceTimeoutMs / 1_000} s`;
}

/** Prediction for a waiting task, or else for the task that was placed last. */
function predictionOf({ prediction, attempts }: Workload): NonNullable<Workload["prediction"]> | null {
  const last = attempts.at(-1);
  return prediction ?? (last === undefined || last.phase === "ended" ? null : (last.prediction ?? null));
}

function gangSentence({ gang, acceleratorTypes }: Pick<WorkloadSummary, "gang" | "acceleratorTypes">): string {
  if (gang.taskGroups !== undefined) {
    const sentences = gang.taskGroups.map(
      (group) =>
        `${group.name}: ${gangSentence({ gang: group, acceleratorTypes: group.acceleratorTypes ?? acceleratorTypes })}`,
    );
    return sentences.join("; ");
  }
  const types = acceleratorTypes.length === 0 ? "" : ` (${acceleratorTypes.join(" or ")})`;
  const accelerators = gang.accelerators === 0 ? "no accelerator" : plural(gang.accelerators, "accelerator") + types;
  const beside = ["", ...resourceTexts({ ...gang, coresMilli: 0 })].join(", ");
  const workers =
    gang.minWorkers === undefined ? plural(gang.workers, "worker") : `${gang.minWorkers} to ${gang.workers} workers`;
  return `${workers}, each ${accelerators}, ${coresText(gang.coresMilli)} ${gang.coresMilli === 1_000 ? "core" : "cores"}${beside}`;
}

function tasksSentence({ tasks }: WorkloadSummary): string {
  return `${tasks.succeeded} succeeded, ${tasks.active} active, ${tasks.waiting} waiting, ${tasks.failed} failed`;
}

const attemptColumns: readonly Column[] = [
  { title: "ATTEMPT" },
  { title: "TASK", align: "right" },
  { title: "TRY", align: "right" },
  { title: "PHASE" },
  { title: "ON", minWidth: 8 },
  { title: "RAN", align: "right" },
  { title: "HOW IT WENT", minWidth: 12 },
];

export function attemptTable(
  { attempts, gang }: Pick<Workload, "attempts" | "gang">,
  nowMs: number,
  sink: Sink,
  paint: Paint,
): string[] {
  const rows = attempts.map((attempt) => {
    const endMs = attempt.phase === "ended" ? attempt.endedAtMs : nowMs;
    const ran = attempt.startedAtMs === null ? "" : shortDuration(endMs - attempt.startedAtMs);
    const staging = attempt.phase !== "ended" && attempt.staging !== undefined;
    const phase = attempt.phase === "ended" ? attempt.outcome : staging ? "staging" : attempt.phase;
    return [
      attempt.id,
      String(attempt.task),
      String(attempt.number),
      phase,
      placesText(attempt, gang),
      ran,
      outcomeText(attempt, gang),
    ];
  });
  return tableLines(attemptColumns, rows, sink, paint);
}

/** Placement such as `n1[0-3] n2[0-3]`; for a gang with task groups `prefill: n1[0] n1[1], decode: n2[0-7]`. */
function placesText({ workers }: Attempt, { taskGroups: groups }: Workload["gang"]): string {
  const placeText = ({ node, accelerators }: WorkerAllocation): string =>
    accelerators === "" ? node : `${node}[${accelerators}]`;
  if (groups === undefined) return workers.map(placeText).join(" ");
  const texts = groups.map(({ name }, index) => {
    const own = workers.filter(({ taskGroup }) => taskGroup === index);
    return own.length === 0 ? "" : `${name}: ${own.map(placeText).join(" ")}`;
  });
  return texts.filter((text) => text !== "").join(", ");
}

const stopReasons: Readonly<Record<StopReason, string>> = {
  cancelled: "stopped on request",
  walltimeExceeded: "its walltime has passed",
  nodeDrained: "its node was drained",
  budgetSpent: "the budget of its team was used up",
  scaledDown: "its endpoint needs fewer replicas",
  notReady: "it did not become ready in time",
  restarted: "an approved proposal restarted it",
  nodeLost: "a node was lost",
  preempted: "preempted by work of higher priority in its team",
  reclaimed: "preempted by another team within its entitlement",
  migrated: "migrated to free capacity for other work",
  incomplete: "the gang had too few workers left",
};

const stopText = (reason: StopReason, closedBy: ClosedBy | undefined): string =>
  closedBy === undefined ? stopReasons[reason] : `made way for ${closedByText(closedBy)}`;

function outcomeText(attempt: Attempt, gang: Workload["gang"]): string {
  if (attempt.phase !== "ended") {
    if (attempt.staging !== undefined) return printable(stagingText(attempt.staging));
    if (attempt.stop === null) return gangSizeText(attempt, gang);
    const first = attempt.stop.checkpointUntilMs === undefined ? "" : ", after it has written a checkpoint";
    return `stopping: ${stopText(attempt.stop.reason, attempt.stop.closedBy)}${first}`;
  }
  const { exit, detail, stopReason, closedBy } = attempt;
  const how =
    exit === null
      ? ""
      : exit.kind === "exited"
        ? `worker ${exit.worker} exited with ${exit.code}`
        : `worker ${exit.worker} got ${exit.signal}`;
  return [stopReason === null ? "" : stopText(stopReason, closedBy), how, detail]
    .filter((part) => part !== "")
    .join(", ");
}
