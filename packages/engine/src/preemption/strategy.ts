/**
 * The interface between the pipeline and a policy's strategy: Headroom's own (`lowest-cost/`) or that of an imitated
 * system (`strategies/`). A strategy determines which requests are eligible, the candidates and their order. The
 * pipeline (`pipeline.ts`) tries the candidates.
 */
import { invariant } from "@headroom/model";
import type { EvictionReason } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import type { Plan } from "./plan.ts";

/** Stages 2 to 4 of one search: candidates are simulated in order, and the first success is minimised. */
export interface Search<Candidate, Simulated, Found> {
  /**
   * Stage 2: candidates to try, best first. Evaluated lazily: a candidate may depend on the results of earlier ones.
   */
  readonly candidates: Iterable<Candidate>;
  /** Stage 3: the simulated result with this candidate, or `null` if the preemptor finds no placement. */
  simulate(candidate: Candidate): Simulated | null;
  /**
   * Stage 4: the result without needless victims, or `null` if the candidate is not acceptable. Then the next one is
   * tried.
   */
  minimise(simulated: Simulated, candidate: Candidate): Found | null;
}

/**
 * A generator that yields searches one after another, receives the result of each, and returns the plan (stage 5). It
 * leaves every index as it was.
 */
export type Planning<Found> = Generator<Search<unknown, unknown, Found>, Plan | null, Found | null>;

export interface PreemptionStrategy<Found = unknown> {
  /** True: for the reason `preempted`, the victims are work that `mayPreempt` allows. */
  readonly preemptsByPriority: boolean;
  /**
   * Stage 1: whether a plan is possible for the request. Must be cheap, because every waiting request is checked before
   * any search.
   */
  isEligible(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): boolean;
  /** Returns false only if `isEligible` is false for every waiting request. Absent: not known without asking each. */
  readonly mayAnyBeEligible?: (world: World, reason: EvictionReason) => boolean;
  plan(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Planning<Found>;
}

type StrategyOf = (world: World) => PreemptionStrategy;

const installed = new Slot<StrategyOf | null>(() => null, { survivesUndo: true });

/** Sets how the strategy of a policy is found. Called once for each engine state, before its first round. */
export const installPreemption = (world: World, strategyOf: StrategyOf): void =>
  world.scratch.set(installed, strategyOf);

/** The strategy that the active policy names. */
export function preemptionStrategy(world: World): PreemptionStrategy {
  const strategyOf = world.scratch.get(installed);
  invariant(strategyOf !== null, "no preemption strategy is installed");
  return strategyOf(world);
}
