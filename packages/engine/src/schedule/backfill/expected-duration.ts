import type { WorkloadSpec } from "../../model/workload.ts";
import type { World } from "../../state/world.ts";

/** How long work is taken to last, for plans about the time to come: its walltime, else what the policy assumes. */
export const expectedDurationMs = ({ rules }: World, { walltimeMs }: WorkloadSpec): number =>
  walltimeMs ?? rules.backfill.assumedWalltimeMs;
