/** Changes that would start work, before and after its submission: results of the engine, each with a sentence. */
import { beforeSubmitting, smallestChanges } from "@headroom/explain";
import type {
  Change as EngineChange,
  StartingChange as EngineStartingChange,
  WouldStart as EngineStart,
} from "@headroom/explain";
import { commandId, initialReplicas, submittedTaskCount } from "@headroom/model";
import type { Command, Rejection, WorkloadId, WorkloadSpec } from "@headroom/model";
import { clockOf, forkEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { canNeverStart } from "@headroom/protocol";
import type {
  Change,
  StartEstimate,
  StartingChange,
  StartingChanges,
  SubmissionForecast,
  WouldStart,
} from "@headroom/protocol";
import { changeSentence } from "./change-text.ts";
import { estimateSentence } from "./estimate-text.ts";
import { withExpectedCapacity } from "./expected-capacity.ts";
import { acceleratorTimeText, grouped, plural } from "./plain-text.ts";
import { reclaimSentence } from "./reclaim-text.ts";
import { submissionNotices, withNotices } from "./submission-notices.ts";
import { withTransfer } from "./transfer-view.ts";
import { verdictResource, verdictView } from "./verdict-view.ts";

/**
 * The changes; `null`: the workload does not exist. The computation takes tens of rounds on forks, so it must not run
 * in the thread of the live engine.
 */
export function startingChangesView(engine: Engine, id: string): StartingChanges | null {
  const workload = engine.state.workloads.get(id as WorkloadId);
  if (workload === undefined) return null;
  return { items: smallestChanges(engine, workload.id).map((each) => startingChangeView(engine, workload.spec, each)) };
}

export type ForecastView =
  | { readonly kind: "refused"; readonly rejection: Rejection }
  | { readonly kind: "forecast"; readonly forecast: SubmissionForecast };

/** Start estimates from forward runs of this engine, in any order. */
export type StartEstimator = (engine: Engine) => readonly EstimatedStart[];

/** Work that is not submitted yet, with its submitter, whose limits and reservations apply. */
export interface Submission {
  readonly spec: WorkloadSpec;
  readonly actor: string;
}

export function forecastView(engine: Engine, submission: Submission, estimate: StartEstimator): ForecastView {
  const told = verdictBefore(engine, submission);
  if (told.kind === "refused" || !needsEstimate(told.forecast)) return told;
  const fork = forkEngine(engine);
  const id = submitTo(fork, submission);
  return { kind: "forecast", forecast: withEstimate(fork, told.forecast, id, estimate(fork)) };
}

/** Without forward runs there is no estimate for waiting work. */
export function verdictBefore(engine: Engine, submission: Submission): ForecastView {
  const { spec } = submission;
  const forecast = beforeSubmitting(engine, submission);
  if (forecast.kind === "refused") return forecast;
  const notices = withNotices(submissionNotices(engine, submission));
  if (forecast.kind === "starts") {
    const start = startView(engine, forecast.start);
    const tasks = tasksSentence(submittedTaskCount(spec), forecast.startingTasks);
    const sentence = `${start.sentence}${tasks}${reclaimSentence(engine, spec)}`;
    return { kind: "forecast", forecast: { kind: "starts", start, ...notices, sentence } };
  }
  const waiting = { spec, phase: "pending", endedAtMs: null, stopRequested: false } as const;
  const verdict = withExpectedCapacity(
    verdictResource(engine, waiting, forecast.verdict),
    forecast.expected,
    clockOf(engine),
  );
  const changes = forecast.changes.map((each) => startingChangeView(engine, spec, each));
  const isEmpty = spec.kind === "serve" && initialReplicas(spec) === 0;
  const sentence = isEmpty
    ? "It would begin without a replica."
    : `It would wait. ${verdict.sentence}${reclaimSentence(engine, spec)}`;
  return { kind: "forecast", forecast: { kind: "waits", verdict, changes, estimate: null, ...notices, sentence } };
}

/** The part of an array that a start covers. */
function tasksSentence(taskCount: number, startingCount: number): string {
  if (taskCount === 1) return "";
  return startingCount === taskCount
    ? ` These are all of its ${grouped(taskCount)} tasks.`
    : ` These are ${grouped(startingCount)} of its ${grouped(taskCount)} tasks; the others wait.`;
}

type WaitingForecast = SubmissionForecast & { readonly kind: "waits" };

/** The work would wait, but not forever. */
export function needsEstimate(forecast: SubmissionForecast): forecast is WaitingForecast {
  return forecast.kind === "waits" && !canNeverStart(forecast.verdict);
}

/** Adds the estimate of the workload on the fork, if the workload waits and has one. The verdict remains beside it. */
export function withEstimate(
  fork: Engine,
  forecast: SubmissionForecast,
  id: WorkloadId | null,
  estimates: readonly EstimatedStart[],
): SubmissionForecast {
  const found = estimates.find(({ workloadId }) => workloadId === id);
  if (!needsEstimate(forecast) || found === undefined) return forecast;
  return {
    ...forecast,
    estimate: withoutId(withTransfer(fork, { ...found, sentence: estimateSentence(fork, found) })),
  };
}

function withoutId({ workloadId: _id, ...estimate }: StartEstimate): Omit<StartEstimate, "workloadId"> {
  return estimate;
}

/** Fields of a command that is sent to a fork on behalf of this user. */
export const asking = (actor: string): Pick<Command, "commandId" | "actor" | "idempotencyKey"> => ({
  commandId: commandId("forecast"),
  actor,
  idempotencyKey: null,
});

/** Submits work to a separate engine and runs a round; `null`: the engine refused the work. */
export function submitTo(fork: Engine, { spec, actor }: Submission): WorkloadId | null {
  const { replies } = fork.receive([{ ...asking(actor), kind: "submitWorkload", spec }], fork.state.nowMs);
  fork.advance();
  const [reply] = replies;
  return reply?.kind === "accepted" && reply.result.kind === "workloadSubmitted" ? reply.result.workloadId : null;
}

const startingChangeView = (
  engine: Engine,
  spec: WorkloadSpec,
  { change, start }: EngineStartingChange,
): StartingChange => ({ change: changeView(engine, spec, change), start: startView(engine, start) });

function startView({ state }: Engine, { acceleratorType, nodes, atOnce, displaced }: EngineStart): WouldStart {
  const others = displaced.map((each) => ({
    ...each,
    name: state.workloads.get(each.workloadId)?.spec.name ?? each.workloadId,
  }));
  const where = `on ${nodes.slice(0, 3).join(", ")}${nodes.length > 3 ? ` and ${nodes.length - 3} more` : ""}`;
  const lostMs = displaced.reduce((sum, { lostAcceleratorMs }) => sum + lostAcceleratorMs, 0);
  if (!atOnce && others.length === 0)
    return {
      acceleratorType,
      nodes: [...nodes],
      atOnce,
      displaced: others,
      sentence: `It would start ${where} as soon as terminating work has ended.`,
    };
  const sentence =
    others.length === 0
      ? `It would start at once, ${where}.`
      : `It would start ${where} after preempting ${nameList(others.map(donorText))}, which costs ${lostMs === 0 ? "no work" : `${acceleratorTimeText(lostMs)} of work`}.`;
  return { acceleratorType, nodes: [...nodes], atOnce, displaced: others, sentence };
}

const donorText = ({ name, keeps }: { readonly name: string; readonly keeps: number }): string =>
  keeps === 0 ? name : `${name} (down to ${plural(keeps, "worker")})`;

function nameList(names: readonly string[]): string {
  if (names.length <= 3) return names.join(", ");
  return `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
}

function changeView(engine: Engine, spec: WorkloadSpec, change: EngineChange): Change {
  const sentence = changeSentence(engine, spec, change);
  if (change.kind === "dropSelector") return { ...change, labels: [...change.labels], sentence };
  if (change.kind === "dropStartWindow") return { ...change, conditions: [...change.conditions], sentence };
  if (change.kind === "largerBudget") return { ...change, budgets: [...change.budgets], sentence };
  if (change.kind === "dropAntiAffinity") return { ...change, terms: [...change.terms], sentence };
  if (change.kind === "resumeNodes") return { ...change, nodes: [...change.nodes], sentence };
  if (change.kind === "admitData") return { ...change, pools: [...change.pools], sentence };
  return { ...change, sentence };
}

/** A start estimate from forward runs. Instants are in ms; `null`: beyond the horizon. */
export type EstimatedStart = Omit<StartEstimate, "sentence">;

/** `engine`: the engine in which the work waits. If there is no instant, the reason comes first. */
export function estimateView(engine: Engine, estimate: EstimatedStart): StartEstimate {
  const sentence = estimateSentence(engine, estimate);
  const verdict = estimate.p50AtMs === null ? verdictView(engine, estimate.workloadId) : null;
  if (verdict?.kind !== "blocked") return withTransfer(engine, { ...estimate, sentence });
  const { expectedCapacity } = verdict;
  const expected = expectedCapacity === undefined ? {} : { expectedCapacity };
  return { ...estimate, ...expected, sentence: `${verdict.sentence} ${sentence}` };
}
