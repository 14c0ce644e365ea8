/**
 * Freeing capacity, for every purpose (`consolidate`, `reclaim`, `preempt`) and every strategy, in stages:
 *
 * 1. eligibility: whether the request may evict any work at all (`eligibility.ts`, the strategy's `isEligible`)
 * 2. candidates: victims to try, in the strategy's order (`candidates.ts`)
 * 3. simulate: a candidate is evicted on the live indexes, the preemptor is placed, and all is rolled back
 * (`simulate.ts`, `place-again.ts`)
 * 4. minimise: victims that are not needed stay (`minimise.ts`)
 * 5. plan: the placement, the victims and their grounds (`plan.ts`)
 * 6. verify and execute: separate code checks the plan, then events record it (`verify.ts`, `execute.ts`)
 *
 * Nothing is evicted without a complete plan.
 */
import type { EvictionReason } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { workloadOf } from "../cluster/entities.ts";
import { spentBudget } from "../usage/gate.ts";
import { roundOrder } from "../ordering/round-order.ts";
import { withFixedTeamShares } from "../ordering/team-share.ts";
import { askForMore, classesInLine, isAnyInLine } from "../placement/classes-in-line.ts";
import { carryOut, isIdleNow } from "./execute.ts";
import { takesNothing } from "./plan.ts";
import type { Plan } from "./plan.ts";
import { preemptionStrategy } from "./strategy.ts";
import type { Search } from "./strategy.ts";
import { verifyPlan } from "./verify.ts";

export function freeCapacity(batch: Batch, reason: EvictionReason): void {
  const { world } = batch;
  // Without evictable work and nominations there is no plan.
  if (world.evictable.size === 0 && world.state.nominations.size === 0) return;
  const strategy = preemptionStrategy(world);
  if (strategy.mayAnyBeEligible?.(world, reason) === false) return;
  if (!isAnyInLine(world, (bucket) => strategy.isEligible(batch, bucket, reason))) return;
  // An earlier phase has started every request that needs no plan.
  withFixedTeamShares(world, () => planInTurn(batch, classesInLine(world), reason));
}

function planInTurn(batch: Batch, waiting: readonly QueueBucket[], reason: EvictionReason): void {
  const { world } = batch;
  const asking = new Set(waiting);
  const order = roundOrder(world, waiting);
  for (let bucket = order.first(); bucket !== null; bucket = order.first()) {
    // A team whose budget is used up may not evict work. A gang that was shrunk for an earlier request no longer
    // requests this growth.
    const asksStill = bucket.request.grows === null || world.queue.growthOf(bucket.request.grows) === bucket;
    const mayPreempt = asksStill && spentBudget(world.state, bucket.request.team) === null;
    const plan = mayPreempt ? findPlan(batch, bucket, reason) : null;
    // The previous phase left this idle place free for a protected start, or for a request ahead.
    if (plan === null || (takesNothing(plan) && isIdleNow(batch, plan))) {
      order.drop(bucket);
      continue;
    }
    verifyPlan(world, plan, reason);
    carryOut(batch, plan, reason);
    batch.asked(bucket, true);
    if (batch.isOver) return;
    order.served(bucket);
    // A migrated victim may have been the last workload of another bucket in this phase. Such a bucket is dropped,
    // because the victim already has a new place.
    for (const { attempt } of plan.migrations ?? []) {
      const own = world.queue.classOf(workloadOf(world, attempt.workloadId));
      if (own !== bucket && own.waiting.length === 0 && asking.has(own)) order.drop(own);
    }
    if (bucket.request.grows !== null) askForMore(world, order, bucket.request.grows);
  }
}

/**
 * Stages 1 to 5 for the first request of a bucket. Returns `null` if there is no plan. Every index is left as it was.
 */
export function findPlan(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Plan | null {
  const strategy = preemptionStrategy(batch.world);
  if (!strategy.isEligible(batch, preemptor, reason)) return null;
  const planning = strategy.plan(batch, preemptor, reason);
  let step = planning.next(null);
  while (step.done !== true) step = planning.next(firstFound(step.value));
  return step.value;
}

/**
 * Stages 2 to 4. Returns the minimised result of the first candidate whose simulation succeeds, or `null` if none
 * succeeds.
 */
export function firstFound<Candidate, Simulated, Found>(search: Search<Candidate, Simulated, Found>): Found | null {
  for (const candidate of search.candidates) {
    const simulated = search.simulate(candidate);
    const found = simulated === null ? null : search.minimise(simulated, candidate);
    if (found !== null) return found;
  }
  return null;
}
