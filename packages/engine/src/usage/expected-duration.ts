/** Expected end of work, for planning: by its predicted run time, else its walltime, else the policy's assumption. */
import { stoppedByMs } from "../model/workload.ts";
import type { Attempt, WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "../policy/rules.ts";

/** Assumed run time of work without a prediction: its walltime, else the policy's assumption. */
export const statedDurationMs = ({ backfill }: Pick<Rules, "backfill">, { walltimeMs }: WorkloadSpec): number =>
  walltimeMs ?? backfill.assumedWalltimeMs;

/** The result may be in the past: work that has passed its expected end can end at any moment. */
export function expectedEndMs(
  rules: Pick<Rules, "backfill">,
  { stop, startedAtMs, placedAtMs, prediction }: Attempt,
  spec: WorkloadSpec,
): number {
  if (stop !== null) return stoppedByMs(stop, spec.graceTimeoutMs);
  return (startedAtMs ?? placedAtMs) + (prediction?.durationMs ?? statedDurationMs(rules, spec));
}
