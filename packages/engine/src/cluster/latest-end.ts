/** When work has to be asked to leave for a window of the calendar: early enough for its checkpoint and its grace. */
import type { TimeWindow } from "../model/calendar.ts";
import type { Attempt, WorkloadSpec } from "../model/workload.ts";
import { checkpointTimeoutOf } from "../policy/checkpoint-timeout.ts";
import type { Rules } from "../policy/rules.ts";

/**
 * `null`: it has ended by its walltime when the window begins. What has not started yet has nothing to save, and neither has what would
 * have ended by then had it started when it was placed: there was room for its walltime, not for its launch.
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
