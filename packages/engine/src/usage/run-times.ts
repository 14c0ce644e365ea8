/**
 * Predicted run times: the mean of the last runs of the same kind of work. Work that outlives its prediction gets a
 * longer one, by growing steps (Tsafrir, Etsion and Feitelson, "Backfilling using system-generated predictions rather
 * than user runtime estimates", IEEE TPDS 18(6), 2007). Predictions affect plans only: work is stopped at its walltime.
 */
import type { PastRun, RunTimes, Prediction, Workload, Rules } from "@headroom/model";

/** Number of runs of a kind that are kept; no policy uses more. */
export const RUNS_KEPT = 8;
/** Maximum number of kinds. Beyond it, the kind whose last run is oldest is dropped. */
export const RUN_KINDS_KEPT = 10_000;

/**
 * Whether run times are recorded for predictions. Predictions serve protected starts only, so the policy must protect
 * starts.
 */
export const predictsRuns = ({ backfill }: Pick<Rules, "backfill">): boolean =>
  backfill.protectedStarts > 0 && backfill.predictFrom !== undefined;

/**
 * The kinds that the work belongs to, closest first. The first kind is the work of the same user, team, name (without
 * trailing numbers) and number of accelerators. The second kind is all work of the user in the team. No name contains a
 * line break.
 */
export function runKindsOf({ spec, actor }: Pick<Workload, "spec" | "actor">): readonly [string, string] {
  const { team, name, gang } = spec;
  return kindsOfWork({ team, actor, name, accelerators: gang.workers * gang.accelerators });
}

/** `accelerators`: those of the whole gang. */
export function kindsOfWork({
  team,
  actor,
  name,
  accelerators,
}: Pick<PastRun, "team" | "actor" | "name" | "accelerators">): readonly [string, string] {
  const user = `${team}\n${actor}`;
  return [`${user}\n${name.replace(/[-_.]?[0-9]+$/, "")}\n${accelerators}`, user];
}

/** Key of the run times of imported work. It begins with a line break, as no kind of own work does. */
export const importedKind = (kind: string): string => `\n${kind}`;
export const isImportedKind = (key: string): boolean => key.startsWith("\n");

/** The newest runs of a kind last. Imported ones count where own work has too few. */
function runsOfKind(runTimes: RunTimes, kind: string, enough: number): readonly number[] {
  const own = runTimes.get(kind) ?? [];
  return own.length >= enough ? own : [...(runTimes.get(importedKind(kind)) ?? []), ...own];
}

/**
 * Prediction by the closest kind that has enough runs. `null`: no kind has enough runs, the prediction is not below the
 * walltime, or the policy does not predict.
 */
export function predictedRun(
  rules: Pick<Rules, "backfill">,
  runTimes: RunTimes,
  workload: Pick<Workload, "spec" | "actor">,
): Prediction | null {
  const { predictFrom } = rules.backfill;
  if (predictFrom === undefined || runTimes.size === 0 || !predictsRuns(rules)) return null;
  for (const kind of runKindsOf(workload)) {
    const known = runsOfKind(runTimes, kind, predictFrom);
    if (known.length < predictFrom) continue;
    const sumMs = known.slice(-predictFrom).reduce((sum, tookMs) => sum + tookMs, 0);
    const durationMs = Math.max(1, Math.ceil(sumMs / predictFrom));
    const { walltimeMs } = workload.spec;
    return walltimeMs !== null && walltimeMs <= durationMs ? null : { durationMs, runs: predictFrom };
  }
  return null;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Amounts by which a prediction is extended each time that the run exceeds it, in order. After the last entry, the
 * amount doubles each time.
 */
const INCREMENTS_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  20 * HOUR_MS,
  50 * HOUR_MS,
  100 * HOUR_MS,
] as const;

/**
 * Upper bound of a prediction, so that the prediction of work without a walltime is corrected only a limited number of
 * times.
 */
export const PREDICTED_MS_MAX: number = 10 * 365 * 24 * HOUR_MS;

function incrementMs(corrections: number): number {
  const last = INCREMENTS_MS.length - 1;
  let stepMs = INCREMENTS_MS[Math.min(corrections, last)] as number;
  for (let doubled = last; doubled < corrections; doubled++) stepMs *= 2;
  return stepMs;
}

/**
 * The prediction for work that has run for this time. It is extended until it is longer, up to the upper bound or the
 * walltime.
 */
export function correctedPrediction(
  { durationMs: fromMs, runs, corrections: before = 0 }: Prediction,
  { ranMs, walltimeMs }: { readonly ranMs: number; readonly walltimeMs: number | null },
): Prediction {
  const mostMs = walltimeMs ?? PREDICTED_MS_MAX;
  let durationMs = fromMs;
  let corrections = before;
  while (durationMs <= ranMs && durationMs < mostMs) {
    durationMs = Math.min(mostMs, durationMs + incrementMs(corrections));
    corrections++;
  }
  return { durationMs, runs, corrections };
}
