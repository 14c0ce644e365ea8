/**
 * The interfaces for placement and scores by the rules of imitated systems. At most one implementation of each is
 * installed.
 */
import { invariant } from "../base/invariant.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import type { WorkerAllocation } from "../model/workload.ts";
import type { Where } from "./place-on-type.ts";
import type { Candidate, DomainBudget } from "./place-constrained.ts";
import type { Score } from "./score/score.ts";

export interface CandidateRequest extends Where {
  readonly candidates: readonly Candidate[];
  /** Starts a new count of the remaining number of workers for each value of the spreading label. */
  readonly spreadOver: () => DomainBudget;
}

export interface PlacementStrategy {
  /** Returns whether the active policy places this request by the rules of the imitated system. */
  appliesTo(world: World, request: PlacementRequest): boolean;
  place(world: World, request: PlacementRequest, candidates: CandidateRequest): readonly WorkerAllocation[] | null;
}

const installed = new Slot<PlacementStrategy | null>(() => null, { survivesUndo: true });

/** Makes the score of the policy's node order. */
type ScoreOf = (world: World) => Score;

const installedScore = new Slot<ScoreOf | null>(() => null, { survivesUndo: true });

/** Called once for every world, before its first round. */
export function installPlacement(world: World, strategy: PlacementStrategy, scoreOf: ScoreOf): void {
  world.scratch.set(installed, strategy);
  world.scratch.set(installedScore, scoreOf);
}

/** The score for a node order other than Headroom's own. */
export function importedScore(world: World): Score {
  const scoreOf = world.scratch.get(installedScore);
  invariant(scoreOf !== null, `no score is installed for the node order ${world.rules.placement}`);
  return scoreOf(world);
}

/** The strategy that places the request, or `null` if nodes are chosen by the policy's `placement`. */
export function placementStrategy(world: World, request: PlacementRequest): PlacementStrategy | null {
  const strategy = world.scratch.get(installed);
  return strategy?.appliesTo(world, request) === true ? strategy : null;
}
