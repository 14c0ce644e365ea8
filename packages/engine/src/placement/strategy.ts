/**
 * The interfaces for placement and scores by the rules of imitated systems. The registry (`strategies/registry.ts`)
 * installs the implementations.
 */
import { invariant } from "@headroom/model";
import type { BlockedReason, WorkerAllocation, Rules } from "@headroom/model";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { SignatureOf } from "../cluster/queue.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import type { Where } from "./place-on-type.ts";
import type { Candidate, DomainBudget } from "./place-constrained.ts";
import type { Score } from "./score/score.ts";

export interface CandidateRequest extends Where {
  readonly candidates: readonly Candidate[];
  /** Starts a new count of the remaining number of workers for each value of the spreading label. */
  readonly spreadOver: () => DomainBudget;
}

export interface PlacementStrategy {
  /** Returns whether this request is placed by the rules of the imitated system. */
  appliesTo(request: PlacementRequest): boolean;
  /** The properties by which the strategy distinguishes requests, in addition to those of the filters. */
  readonly signature: SignatureOf;
  place(world: World, request: PlacementRequest, candidates: CandidateRequest): readonly WorkerAllocation[] | null;
  /** The reason why the strategy does not place the request, or `null` if its rules do not block the request. */
  explain(world: World, request: PlacementRequest): BlockedReason | null;
}

interface PlacementStrategies {
  strategyOf(rules: Rules): PlacementStrategy | null;
  /** Makes the score of the policy's node order, if it is not Headroom's own. */
  scoreOf(world: World): Score;
}

const installed = new Slot<PlacementStrategies | null>(() => null, { survivesUndo: true });

/** Called once for every world, before its first round. */
export const installPlacement = (world: World, strategies: PlacementStrategies): void =>
  world.scratch.set(installed, strategies);

function strategiesOf({ scratch }: World): PlacementStrategies {
  const strategies = scratch.get(installed);
  invariant(strategies !== null, "no placement strategy is installed");
  return strategies;
}

export const importedScore = (world: World): Score => strategiesOf(world).scoreOf(world);

/** The strategy that places the request, or `null` if nodes are chosen by the policy's `placement`. */
export function placementStrategy(world: World, request: PlacementRequest): PlacementStrategy | null {
  const strategy = world.rules.fabric.placedBy === null ? null : strategiesOf(world).strategyOf(world.rules);
  return strategy?.appliesTo(request) === true ? strategy : null;
}
