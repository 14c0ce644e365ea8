/** Observed run times, recorded as attempts end. No other code writes `state.runTimes`. */
import type { AttemptEvent, Attempt, Workload } from "@headroom/model";
import {
  importedKind,
  isImportedKind,
  RUNS_KEPT,
  RUN_KINDS_KEPT,
  predictsRuns,
  runKindsOf,
} from "../usage/run-times.ts";
import { foldImportedRuns } from "./imported-histories.ts";
import { workloadOf } from "./writable.ts";
import type { WritableWorld } from "./writable.ts";

/**
 * Records the run time of a task that ended by itself or by its walltime: the sum over its attempts. `workload` already
 * includes the end.
 */
export function recordRunTime(
  world: WritableWorld,
  workload: Workload,
  { attempt, event }: { readonly attempt: Attempt; readonly event: AttemptEvent & { readonly kind: "attemptEnded" } },
): void {
  if (!predictsRuns(world.rules) || event.retryAtMs !== null || attempt.startedAtMs === null) return;
  const isStopped = attempt.stop !== null && attempt.stop.reason !== "walltimeExceeded";
  if (!isStopped && event.outcome !== "lost") rememberRun(world, workload, attempt);
}

function rememberRun(world: WritableWorld, workload: Workload, attempt: Attempt): void {
  let tookMs = 0;
  for (const { task, startedAtMs, endedAtMs } of workload.endedAttempts)
    if (task === attempt.task && startedAtMs !== null) tookMs += endedAtMs - startedAtMs;
  const changed = runKindsOf(workload).flatMap((kind) => remember(world, kind, tookMs));
  world.queue.predictAnew(changed);
}

/** Adds a run time and returns the kinds of work whose statistics changed. */
function remember({ state: { runTimes } }: WritableWorld, kind: string, tookMs: number): readonly string[] {
  const known = runTimes.get(kind) ?? [];
  runTimes.delete(kind);
  runTimes.set(kind, [...known.slice(known.length === RUNS_KEPT ? 1 : 0), tookMs]);
  if (runTimes.size <= RUN_KINDS_KEPT) return [kind];
  const [oldest = kind] = runTimes.keys();
  runTimes.delete(oldest);
  return [kind, isImportedKind(oldest) ? oldest.slice(importedKind("").length) : oldest];
}

/** After the policy changed: without predictions, run times and predictions of running work are dropped. */
export function renewRunTimes(world: WritableWorld): void {
  const { state, rules } = world;
  if (predictsRuns(rules)) {
    if (state.importedHistories.size > 0) foldImportedRuns(world);
    return;
  }
  state.runTimes.clear();
  for (const attempt of state.attempts.values()) {
    if (attempt.prediction === undefined) continue;
    delete attempt.prediction;
    attempt.revision = state.sequence;
    world.completions.file(attempt, workloadOf(world, attempt.workloadId).spec);
  }
}
