/** How long running work would still run if nobody took it: by the steps that it reports, and at most until its walltime. */
import type { Attempt, AttemptProgress, Workload } from "../model/workload.ts";

/** `null`: nothing is known of it. Never negative. */
export function remainingMs(workload: Workload, attempt: Attempt, nowMs: number): number | null {
  const { walltimeMs } = workload.spec;
  const startedAtMs = attempt.startedAtMs ?? nowMs;
  const byWalltimeMs = walltimeMs === null ? null : startedAtMs + walltimeMs;
  const byProgressMs = endByProgressMs(workload, attempt);
  if (byWalltimeMs === null && byProgressMs === null) return null;
  const endMs = Math.min(byWalltimeMs ?? Number.POSITIVE_INFINITY, byProgressMs ?? Number.POSITIVE_INFINITY);
  return Math.max(0, endMs - nowMs);
}

function endByProgressMs(workload: Workload, attempt: Attempt): number | null {
  const { progress, startedAtMs } = attempt;
  const total = progress?.totalSteps ?? null;
  if (progress === null || total === null || startedAtMs === null) return null;
  return extrapolatedMs(paceFrom(workload, attempt, startedAtMs), progress, total);
}

/** A first attempt began at step 0, a later one at the checkpoint before it; where its own has replaced that, its pace is known from there on. */
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
