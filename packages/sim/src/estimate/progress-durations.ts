/**
 * How long an attempt that reports its steps takes in all: elapsed time and the remaining steps at its pace. Nothing else that
 * is known of its kind says as much.
 */
import { endByProgressMs } from "@headroom/engine";
import type { Attempt, Workload } from "@headroom/engine";

/** Reported ends reach the journal when they move by a tenth of the time left: between two of them an end is known as well as that. */
const SPREAD = 0.1;

/** In ms, from its start; `null`: it reports no progress towards a total. `uniform`: 0 to 1, for the place within the spread. */
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
