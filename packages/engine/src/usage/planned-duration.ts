/**
 * Planned run time of waiting work: its walltime, rounded up to a multiple of a step that is larger for longer
 * walltimes. Work whose walltimes differ by less than a step shares a bucket, so that a round considers a few hundred
 * durations at most (Slurm's `bf_resolution` does the same with one step for all). Rounding up delays no protected
 * start.
 */
import { checkpointTimeoutOf } from "@headroom/model";
import type { Workload, WorkloadSpec, Rules, RunTimes } from "@headroom/model";
import { predictedRun } from "./run-times.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Steps by duration, longest durations first. Each step divides the duration from which the next larger step applies.
 * Rounding adds at most 9%.
 */
const STEPS: readonly { readonly fromMs: number; readonly stepMs: number }[] = [
  { fromMs: 32 * DAY_MS, stepMs: 2 * DAY_MS },
  { fromMs: 8 * DAY_MS, stepMs: 12 * HOUR_MS },
  { fromMs: 2 * DAY_MS, stepMs: 3 * HOUR_MS },
  { fromMs: 12 * HOUR_MS, stepMs: HOUR_MS },
  { fromMs: 3 * HOUR_MS, stepMs: 15 * MINUTE_MS },
  { fromMs: HOUR_MS, stepMs: 5 * MINUTE_MS },
  { fromMs: 12 * MINUTE_MS, stepMs: MINUTE_MS },
  { fromMs: MINUTE_MS, stepMs: 5 * SECOND_MS },
];

/** A loop over indexes, because several of these searches are made for each submission. */
function stepOf(durationMs: number): number {
  for (let at = 0; at < STEPS.length; at++) {
    const step = STEPS[at] as (typeof STEPS)[number];
    if (durationMs > step.fromMs) return step.stepMs;
  }
  return 1;
}

/** The smallest planned duration that is at least `durationMs`. */
export const roundedUpMs = (durationMs: number): number => {
  const stepMs = stepOf(durationMs);
  return Math.ceil(durationMs / stepMs) * stepMs;
};

/** The largest planned duration that is at most `durationMs`. */
export const roundedDownMs = (durationMs: number): number => {
  const stepMs = stepOf(durationMs);
  return Math.floor(durationMs / stepMs) * stepMs;
};

/** Run time of work without predictions: its walltime, or the policy's assumption if it has none. */
export const longestDurationMs = ({ backfill }: Pick<Rules, "backfill">, { walltimeMs }: WorkloadSpec): number =>
  walltimeMs === null ? backfill.assumedWalltimeMs : roundedUpMs(walltimeMs);

/**
 * Run time that is compared with calendar windows. For work without a walltime, it is longer than the time limit of a
 * requested checkpoint.
 */
export const windowDurationMs = (rules: Pick<Rules, "backfill" | "eviction">, spec: WorkloadSpec): number =>
  spec.walltimeMs === null
    ? Math.max(longestDurationMs(rules, spec), checkpointTimeoutOf(rules, spec) + 1)
    : longestDurationMs(rules, spec);

/**
 * Planned run time by recent runs of the same kind, if the policy predicts run times. It is never longer than the
 * walltime.
 */
export function plannedDurationMs(
  rules: Pick<Rules, "backfill">,
  runTimes: RunTimes,
  workload: Pick<Workload, "spec" | "actor">,
): number {
  const predicted = predictedRun(rules, runTimes, workload);
  return predicted === null ? longestDurationMs(rules, workload.spec) : roundedUpMs(predicted.durationMs);
}
