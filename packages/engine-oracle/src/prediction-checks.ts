/**
 * Checks that the predicted duration of placed work is the mean of the last runs of its kind, and below its walltime.
 */
import { rulesOf } from "@headroom/model";
import type { Event, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { runKindsOf } from "@headroom/engine/internals";
import type { Findings } from "@headroom/engine/internals";

export function checkPredictions(findings: Findings, state: ReadonlyState, events: readonly Event[]): void {
  for (const event of events) {
    const workload = event.kind === "gangPlaced" ? state.workloads.get(event.workloadId) : undefined;
    if (event.kind !== "gangPlaced" || workload === undefined) continue;
    const predicted = event.prediction?.durationMs ?? null;
    const took = tookMs(state, workload);
    findings.expect(
      predicted === took,
      () => `${event.attemptId} is predicted to run ${predicted} ms, such work took ${took}`,
    );
  }
}

/** Own runs; where they are too few, those of imported work before them. */
function withImported(runTimes: ReadonlyState["runTimes"], kind: string, enough: number): readonly number[] {
  const own = runTimes.get(kind) ?? [];
  return own.length < enough ? [...(runTimes.get(`\n${kind}`) ?? []), ...own] : own;
}

/** The predicted run time in ms. `null` if the kind has too few runs, or the mean is not below the walltime. */
function tookMs({ policy, runTimes }: ReadonlyState, workload: Workload): number | null {
  const { protectedStarts, predictFrom } = rulesOf(policy).backfill;
  if (protectedStarts === 0 || predictFrom === undefined) return null;
  const known = runKindsOf(workload)
    .map((kind) => withImported(runTimes, kind, predictFrom))
    .find(({ length }) => length >= predictFrom);
  if (known === undefined) return null;
  const last = known.slice(known.length - predictFrom);
  const mean = Math.max(1, Math.ceil(last.reduce((sum, each) => sum + each, 0) / predictFrom));
  return mean < (workload.spec.walltimeMs ?? Number.POSITIVE_INFINITY) ? mean : null;
}
