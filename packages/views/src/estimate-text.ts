/** Start estimates as sentences: the start, its range, and the events it depends on. */
import { taskCountOf } from "@headroom/model";
import type { WorkloadId } from "@headroom/model";
import { waitingTaskCount } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { writeInstant } from "@headroom/protocol";
import type { StartEstimate } from "@headroom/protocol";
import { beyondPlayed } from "./forecast-words.ts";
import { durationText, grouped, plural } from "./plain-text.ts";

/** `engine`: the engine in which the work waits. */
export function estimateSentence({ state }: Engine, estimate: Omit<StartEstimate, "sentence">): string {
  const { atMs, p10AtMs, p50AtMs, p90AtMs } = estimate;
  if (p50AtMs === null) return noTimeSentence(estimate);
  const inMs = (instantMs: number): number => Math.max(0, Math.round((instantMs - atMs) / 1000) * 1000);
  const after = (instantMs: number): string => durationText(inMs(instantMs));
  const early = p10AtMs ?? p50AtMs;
  const range = rangeText({
    early: inMs(early) === 0 ? null : after(early),
    late: p90AtMs === null ? null : after(p90AtMs),
    beyond: beyondPlayed(estimate),
  });
  const subject = subjectOf(state, estimate.workloadId);
  const start = inMs(p50AtMs) > 0 ? `starts in about ${after(p50AtMs)}` : "is due to start";
  return `${subject} ${start}, with 80% probability ${range}; ${groundsText(estimate)}.${accuracyText(estimate)}`;
}

interface Range {
  /** `null`: now. */
  readonly early: string | null;
  /** The instant as text; `null`: it is after the simulated period. */
  readonly late: string | null;
  readonly beyond: string;
}

function rangeText({ early, late, beyond }: Range): string {
  if (late === null) return `${early === null ? "from now on" : `not before ${early} from now`}, perhaps ${beyond}`;
  return early === null ? `within ${late}` : `between ${early} and ${late} from now`;
}

/** The estimated task, for an array. */
function subjectOf({ workloads }: Engine["state"], id: string): string {
  const workload = workloads.get(id as WorkloadId);
  const taskCount = workload === undefined ? 1 : (workload.scale?.replicas ?? taskCountOf(workload.spec));
  if (workload === undefined || taskCount === 1) return "It";
  const waitingCount = waitingTaskCount(workload);
  if (waitingCount === taskCount) return `The first of its ${grouped(taskCount)} tasks`;
  return waitingCount > 1 ? `The next of its ${grouped(waitingCount)} waiting tasks` : "The last of its tasks";
}

function groundsText({ because: { endsBefore, scenarioCount, history } }: Pick<StartEstimate, "because">): string {
  const ends = `${plural(endsBefore, "attempt")} ${endsBefore === 1 ? "ends" : "end"} before it`;
  return `${ends} in the median of ${plural(scenarioCount, "scenario")}${historyText(history)}`;
}

/** Says where the run times come from. */
function historyText(history: StartEstimate["because"]["history"]): string {
  if (history === undefined || history.runningCount === 0) return "";
  const { runningCount, byProgressCount, unknownCount, byWalltimeCount, similarRunCount } = history;
  const sources: string[] = [];
  if (byProgressCount > 0)
    sources.push(`the reported progress of ${grouped(byProgressCount)} of ${plural(runningCount, "running attempt")}`);
  if (similarRunCount > 0) sources.push(plural(similarRunCount, "similar run"));
  if (unknownCount > 0 && sources.length > 0) sources.push(`no history for ${grouped(unknownCount)} of them`);
  if (sources.length > 0) return `, from ${sources.join(" and ")}`;
  return byWalltimeCount === unknownCount
    ? ", only from walltimes: no work like the running work has ended yet"
    : ", without history: no work like the running work has ended yet";
}

function accuracyText({ accuracy }: Pick<StartEstimate, "accuracy">): string {
  if (accuracy === undefined) return "";
  const off = durationText(Math.round(accuracy.medianErrorMs / 1000) * 1000);
  return ` In the median, the last ${plural(accuracy.startCount, "forecast")} on this fleet ${accuracy.startCount === 1 ? "was" : "were"} ${off} off.`;
}

function noTimeSentence({ because, playedUntilMs }: Pick<StartEstimate, "because" | "playedUntilMs">): string {
  const { startedCount, scenarioCount } = because;
  if (scenarioCount === 0) return "No start can be estimated.";
  const scenarios = plural(scenarioCount, "scenario");
  return playedUntilMs === undefined
    ? `It starts within the horizon in ${startedCount} of ${scenarios}: no start can be estimated.`
    : `In ${scenarioCount - startedCount} of ${scenarios} it does not start before ${writeInstant(playedUntilMs)}, the end of the simulated period: no start can be estimated.`;
}
