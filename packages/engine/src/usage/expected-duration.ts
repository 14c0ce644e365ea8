/** When work is taken to end, for plans about the time to come: as is predicted of it, by its walltime, else as long as the policy assumes. */
import { stoppedByMs } from "../model/workload.ts";
import type { Attempt, WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "../policy/rules.ts";

/** Assumed run time of work without a prediction: its walltime, else the policy's assumption. */
export const statedDurationMs = ({ backfill }: Pick<Rules, "backfill">, { walltimeMs }: WorkloadSpec): number =>
  walltimeMs ?? backfill.assumedWalltimeMs;

/** May be in the past: work beyond its expected end may end at any moment. */
export function expectedEndMs(
  rules: Pick<Rules, "backfill">,
  { stop, startedAtMs, placedAtMs, prediction }: Attempt,
  spec: WorkloadSpec,
): number {
  if (stop !== null) return stoppedByMs(stop, spec.graceTimeoutMs);
  return (startedAtMs ?? placedAtMs) + (prediction?.durationMs ?? statedDurationMs(rules, spec));
}
