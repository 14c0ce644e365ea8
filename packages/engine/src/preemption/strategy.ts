/**
 * The port between the pipeline and a policy's strategy: the product's own (`lowest-cost/`) or that of an imitated
 * system (`strategies/`). A strategy supplies eligibility, candidates and their order; the driver (`pipeline.ts`) tries
 * them.
 */
import { invariant } from "../base/invariant.ts";
import type { Batch } from "../batch/batch.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import type { EvictionReason } from "../model/workload.ts";
import type { Plan } from "./plan.ts";

/** Stages 2 to 4 of one search: candidates are simulated in order, and the first success is minimised. */
export interface Search<Candidate, Simulated, Found> {
  /**
   * Stage 2: candidates to try, best first. Evaluated lazily: a candidate may depend on the results of earlier ones.
   */
  readonly candidates: Iterable<Candidate>;
  /** Stage 3: the preemptor's placement with this candidate; `null`: none. */
  simulate(candidate: Candidate): Simulated | null;
  /**
   * Stage 4: the result without needless victims; `null`: the candidate is not acceptable, and the next one is tried.
   */
  minimise(simulated: Simulated, candidate: Candidate): Found | null;
}

/**
 * Yields searches one after another, receives the result of each, and returns the plan (stage 5). Every index is left
 * as it was.
 */
export type Planning<Found> = Generator<Search<unknown, unknown, Found>, Plan | null, Found | null>;

export interface PreemptionStrategy<Found = unknown> {
  /**
   * Stage 1: whether a plan is possible for the request. Must be cheap, because every waiting request is checked before
   * any search.
   */
  isEligible(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): boolean;
  plan(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Planning<Found>;
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
