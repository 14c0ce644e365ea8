/** When work is taken to end, for plans about the time to come: by its walltime, else as long as the policy assumes. */
import { stoppedByMs } from "../../model/workload.ts";
import type { Attempt, WorkloadSpec } from "../../model/workload.ts";
import { workloadOf } from "../../state/entities.ts";
import type { World } from "../../state/world.ts";

/** How long work is taken to last, for plans about the time to come: its walltime, else what the policy assumes. */
export const expectedDurationMs = ({ rules }: World, { walltimeMs }: WorkloadSpec): number =>
  walltimeMs ?? rules.backfill.assumedWalltimeMs;

/** Never before the next instant: what runs over its time ends at any moment. */
export function expectedEndMs(world: World, attempt: Attempt, nowMs: number): number {
  const { spec } = workloadOf(world, attempt.workloadId);
  if (attempt.stop !== null) return Math.max(nowMs + 1, stoppedByMs(attempt.stop, spec.graceTimeoutMs));
  return Math.max(nowMs + 1, (attempt.startedAtMs ?? attempt.placedAtMs) + expectedDurationMs(world, spec));
}
