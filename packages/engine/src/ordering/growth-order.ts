/** Order of growth requests of running gangs: by gain, if the policy says so. */
import { compareSteps, throughputMilli } from "../model/throughput.ts";
import type { GrowthStep } from "../model/throughput.ts";
import { minWorkersOf } from "../model/workload.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";
import { headOrder } from "../cluster/head-order.ts";
import type { CompareClasses } from "../cluster/head-order.ts";

export function growthOrder(world: World): CompareClasses {
  const inQueue = headOrder(world);
  if (world.rules.elastic.by === "order") return inQueue;
  return (left, right) =>
    compareSteps(stepOf(world, right.request), stepOf(world, left.request)) || inQueue(left, right);
}

/** A gang below its minimum makes no progress without the missing workers. */
function stepOf({ state }: World, { gang, grows, workers }: PlacementRequest): GrowthStep {
  const has = grows === null ? 0 : (state.attempts.get(grows)?.workers.length ?? 0);
  if (has < minWorkersOf(gang)) return { workers: 1, gainMilli: Number.MAX_SAFE_INTEGER };
  return { workers, gainMilli: throughputMilli(gang, has + workers) - throughputMilli(gang, has) };
}
