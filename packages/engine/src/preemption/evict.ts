/**
 * Taking what somebody holds for somebody who may claim it. Classes are asked in the order of the round; a search looks for a
 * complete plan on the live indexes and takes everything back; the plan is checked by someone who did not make it, recorded
 * with the right by which it was made, and only then carried out. Without a complete plan nobody is asked to leave.
 */
import type { Batch } from "../batch/batch.ts";
import type { EvictionReason } from "../model/workload.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { workloadOf } from "../cluster/entities.ts";
import { verifyPlan } from "./verify-plan.ts";
import { spentBudget } from "../usage/gate.ts";
import { roundOrder } from "../ordering/round-order.ts";
import { withFixedTeamShares } from "../ordering/team-share.ts";
import { carryOut, isIdleNow } from "./execute.ts";
import { takesNothing } from "./plan.ts";
import { classesInLine, askForMore } from "../placement/classes-in-line.ts";
import { preemptionStrategy } from "./strategy.ts";

export function evictFor(batch: Batch, reason: EvictionReason): void {
  const { world } = batch;
  // Where nobody may be evicted and nothing is promised there is nothing to take.
  if (world.evictable.size > 0 || world.state.nominations.size > 0) lookForPlans(batch, reason);
}

function lookForPlans(batch: Batch, reason: EvictionReason): void {
  const { world } = batch;
  // Whoever could start without a plan was started by the phase before.
  const waiting = classesInLine(world);
  const strategy = preemptionStrategy(world);
  if (!waiting.some((bucket) => strategy.mayFind(batch, bucket, reason))) return;
  withFixedTeamShares(world, () => planFor(batch, waiting, reason));
}

function planFor(batch: Batch, waiting: readonly QueueBucket[], reason: EvictionReason): void {
  const { world } = batch;
  const strategy = preemptionStrategy(world);
  const asking = new Set(waiting);
  const order = roundOrder(world, waiting);
  for (let bucket = order.first(); bucket !== null; bucket = order.first()) {
    // Whose budget is used up may claim nothing; a gang that was asked to leave for those before it does not grow any more.
    const asksStill = bucket.request.grows === null || world.queue.growthOf(bucket.request.grows) === bucket;
    const mayPreemptNow =
      asksStill && spentBudget(world.state, bucket.request.team) === null && strategy.mayFind(batch, bucket, reason);
    const plan = mayPreemptNow ? strategy.find(batch, bucket, reason) : null;
    // A place that is idle and was not given by the phase before is kept from it: for a protected start, or for who is ahead.
    if (plan === null || (takesNothing(plan) && isIdleNow(batch, plan))) {
      order.drop(bucket);
      continue;
    }
    verifyPlan(world, plan, reason);
    carryOut(batch, plan, reason);
    batch.asked(bucket, true);
    if (batch.isOver) return;
    order.served(bucket);
    // Who moves may have been the last of a class that was still to be asked: its task has its place now.
    for (const { attempt } of plan.moves ?? []) {
      const own = world.queue.classOf(workloadOf(world, attempt.workloadId));
      if (own !== bucket && own.waiting.length === 0 && asking.has(own)) order.drop(own);
    }
    if (bucket.request.grows !== null) askForMore(world, order, bucket.request.grows);
  }
}
