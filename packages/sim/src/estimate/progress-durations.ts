/**
 * Total run time of an attempt that reports its steps: elapsed time plus the remaining steps at its present speed. This
 * is more accurate than any statistics of similar work.
 */
import { endByProgressMs } from "@headroom/engine";
import type { Attempt, Workload } from "@headroom/model";

/**
 * Relative uncertainty of the remaining time. The journal records a new expected end only when it moves by a tenth of
 * the remaining time.
 */
const SPREAD = 0.1;

/**
 * Total run time in ms from the start; `null`: the attempt reports no progress with a total number of steps. `uniform`:
 * position within the spread, from 0 to 1.
 */
export function progressDurationMs(
  workload: Workload,
  attempt: Attempt,
  { nowMs, uniform }: { readonly nowMs: number; readonly uniform: number },
): number | null {
  const { startedAtMs } = attempt;
  const endMs = startedAtMs === null ? null : endByProgressMs(workload, attempt);
  if (startedAtMs === null || endMs === null) return null;
  const remainingMs = Math.max(1, Math.round((endMs - nowMs) * (1 + SPREAD * (2 * uniform - 1))));
  const durationMs = nowMs - startedAtMs + remainingMs;
  return Math.min(durationMs, Math.max(workload.spec.walltimeMs ?? durationMs, nowMs - startedAtMs + 1));
}
