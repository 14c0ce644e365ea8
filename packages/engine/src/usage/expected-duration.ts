/**
 * Expected end of work, for plans. It follows from the predicted run time; without a prediction, from the walltime;
 * without both, from the policy's assumption.
 */
import { stoppedByMs } from "@headroom/model";
import type { Attempt, WorkloadSpec, Rules } from "@headroom/model";

/** Run time assumed for work without a prediction: its walltime, or the policy's assumption if it has none. */
export const statedDurationMs = ({ backfill }: Pick<Rules, "backfill">, { walltimeMs }: WorkloadSpec): number =>
  walltimeMs ?? backfill.assumedWalltimeMs;

/** Expected end of running work. It may be in the past: work that has passed its expected end can end at any moment. */
export function expectedEndMs(
  rules: Pick<Rules, "backfill">,
  { stop, startedAtMs, placedAtMs, prediction, stagingMs = 0 }: Attempt,
  spec: WorkloadSpec,
): number {
  if (stop !== null) return stoppedByMs(stop, spec.graceTimeoutMs);
  return (startedAtMs ?? placedAtMs + stagingMs) + (prediction?.durationMs ?? statedDurationMs(rules, spec));
}
