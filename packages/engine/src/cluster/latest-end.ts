/** Instant at which work must be stopped for a calendar window: early enough for its checkpoint and grace period. */
import { checkpointTimeoutOf } from "@headroom/model";
import type { TimeWindow, Attempt, WorkloadSpec, Rules } from "@headroom/model";

/**
 * Instant at which the attempt must be stopped for the window, or `null` if its walltime ends it before the window
 * begins. No time for a checkpoint is reserved for an attempt that has not started, because it has nothing to save. The
 * same holds for an attempt whose walltime, counted from its placement, ends before the window.
 */
export function latestEndMs(
  rules: Pick<Rules, "eviction">,
  { startedAtMs, placedAtMs }: Pick<Attempt, "startedAtMs" | "placedAtMs">,
  { spec, startMs }: { readonly spec: WorkloadSpec } & Pick<TimeWindow, "startMs">,
): number | null {
  const { graceTimeoutMs, walltimeMs } = spec;
  const stoppedAtMs = startMs - graceTimeoutMs;
  if (startedAtMs === null) return stoppedAtMs;
  if (walltimeMs !== null && startedAtMs + walltimeMs <= stoppedAtMs) return null;
  if (walltimeMs !== null && placedAtMs + walltimeMs <= stoppedAtMs) return stoppedAtMs;
  return stoppedAtMs - checkpointTimeoutOf(rules, spec);
}
