/** The port through which a policy's way of finding plans is called: our own or an imitated system's (`strategies/`). */
import { invariant } from "../base/invariant.ts";
import type { Batch } from "../batch/batch.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import type { EvictionReason } from "../model/workload.ts";
import type { PlanSearch } from "./plan.ts";

export interface PreemptionStrategy {
  readonly find: PlanSearch;
  /** Whether `find` could find anything at all for the request, decided from sums alone; `true`: only a search can tell. */
  mayFind(batch: Batch, bucket: QueueBucket, reason: EvictionReason): boolean;
}

type StrategyOf = (world: World) => PreemptionStrategy;

const installed = new Slot<StrategyOf | null>(() => null, { survivesUndo: true });

/** Called once for every indexed world, before its first round. */
export const installPreemption = (world: World, strategyOf: StrategyOf): void =>
  world.scratch.set(installed, strategyOf);

/** The strategy that the active policy names. */
export function preemptionStrategy(world: World): PreemptionStrategy {
  const strategyOf = world.scratch.get(installed);
  invariant(strategyOf !== null, "no preemption strategy is installed");
  return strategyOf(world);
}
