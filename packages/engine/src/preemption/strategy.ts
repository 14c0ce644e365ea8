/**
 * The port between the pipeline and a policy's strategy: the product's own (`lowest-cost/`) or an imitated system's (`strategies/`). A
 * strategy supplies eligibility, candidates and their order; the driver (`pipeline.ts`) tries them.
 */
import { invariant } from "../base/invariant.ts";
import type { Batch } from "../batch/batch.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import type { EvictionReason } from "../model/workload.ts";
import type { Plan } from "./plan.ts";

/** Stages 2 to 4 of one search: candidates are simulated in their order, and the first that succeeds is minimised. */
export interface Search<Candidate, Simulated, Found> {
  /** Stage 2: what to try, best first. Evaluated lazily: a candidate may depend on how those before it fared. */
  readonly candidates: Iterable<Candidate>;
  /** Stage 3: where the preemptor would be placed with the candidate; `null`: nowhere. */
  simulate(candidate: Candidate): Simulated | null;
  /** Stage 4: the same without needless victims; `null`: the candidate is not acceptable, and the next one is tried. */
  minimise(simulated: Simulated, candidate: Candidate): Found | null;
}

/** Yields searches in turn, gets back what each found, and returns the plan (stage 5). Leaves every index as it was. */
export type Planning<Found> = Generator<Search<unknown, unknown, Found>, Plan | null, Found | null>;

export interface PreemptionStrategy<Found = unknown> {
  /** Stage 1: whether there can be a plan for the request. Cheap: it is asked of all that waits, before any search. */
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
