/** Expected remaining time of running work: from its reported steps, capped by its walltime. */
import type { Attempt, AttemptProgress, Workload } from "@headroom/model";

/** Time ahead that the eviction cost looks at, in ms. Evicting work that ends within this time gains less. */
export const ESTIMATE_HORIZON_MS = 3_600_000;
/**
 * An estimate is recorded when the expected end moves by more than this fraction of the remaining time, and by more
 * than `CHANGE_MIN_MS`.
 */
const CHANGE_PART = 0.1;
const CHANGE_MIN_MS = 60_000;

/**
 * Returns whether the expected end that follows from a report must be recorded. The first expected end of an attempt is
 * recorded. A later one is recorded if it moves by more than a tenth of the remaining time and by more than a minute,
 * with both ends capped at the walltime. Forecasts read the recorded end, even if it is far ahead. If the end can no
 * longer be computed, because the steps went back, that is recorded too.
 */
export function movesExpectedEnd(
  workload: Workload,
  attempt: Attempt,
  { step, totalSteps }: Pick<AttemptProgress, "step" | "totalSteps">,
  nowMs: number,
): boolean {
  if (totalSteps === null || attempt.startedAtMs === null) return false;
  const reported = { ...attempt, progress: { atMs: nowMs, step, totalSteps, metrics: {} } };
  const isKnown = endByProgressMs(workload, attempt) !== null;
  const isReported = endByProgressMs(workload, reported) !== null;
  if (!isKnown || !isReported) return isKnown !== isReported;
  const recordedMs = remainingMs(workload, attempt, nowMs) ?? 0;
  const reportedMs = remainingMs(workload, reported, nowMs) ?? 0;
  return Math.abs(reportedMs - recordedMs) > Math.max(CHANGE_MIN_MS, recordedMs * CHANGE_PART);
}

/**
 * The expected remaining time in ms, never negative. It is `null` if neither a walltime nor reported steps give one.
 */
export function remainingMs(workload: Workload, attempt: Attempt, nowMs: number): number | null {
  const { walltimeMs } = workload.spec;
  const startedAtMs = attempt.startedAtMs ?? nowMs;
  const byWalltimeMs = walltimeMs === null ? null : startedAtMs + walltimeMs;
  const byProgressMs = endByProgressMs(workload, attempt);
  if (byWalltimeMs === null && byProgressMs === null) return null;
  const endMs = Math.min(byWalltimeMs ?? Number.POSITIVE_INFINITY, byProgressMs ?? Number.POSITIVE_INFINITY);
  return Math.max(0, endMs - nowMs);
}

/** The end at the pace of the reported steps, or `null` if the attempt reports no steps or no total number of steps. */
export function endByProgressMs(workload: Workload, attempt: Attempt): number | null {
  const { progress, startedAtMs } = attempt;
  const total = progress?.totalSteps ?? null;
  if (progress === null || total === null || startedAtMs === null) return null;
  return extrapolatedMs(paceFrom(workload, attempt, startedAtMs), progress, total);
}

/**
 * The step and time from which the pace is measured: step 0 for a first attempt, otherwise the checkpoint that the
 * attempt resumed from, or the attempt's own newest checkpoint.
 */
function paceFrom(
  { checkpoint }: Workload,
  { id, number }: Attempt,
  startedAtMs: number,
): Pick<AttemptProgress, "step" | "atMs"> {
  if (number === 1 || checkpoint === null) return { step: 0, atMs: startedAtMs };
  return checkpoint.attemptId === id ? checkpoint : { step: checkpoint.step, atMs: startedAtMs };
}

function extrapolatedMs(
  from: Pick<AttemptProgress, "step" | "atMs">,
  { step, atMs }: AttemptProgress,
  total: number,
): number | null {
  const isKnown = step > from.step && atMs > from.atMs && total >= step;
  return isKnown ? atMs + Math.ceil(((total - step) * (atMs - from.atMs)) / (step - from.step)) : null;
}
