/** The port for placement by the rules of an imitated system; at most one is installed. */
import type { PlacementRequest } from "../cluster/placement-request.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import type { WorkerAllocation } from "../model/workload.ts";
import type { Where } from "./place-on-type.ts";
import type { Candidate, DomainBudget } from "./place-constrained.ts";

export interface CandidateRequest extends Where {
  readonly candidates: readonly Candidate[];
  /** Remaining number of workers for each value of the spreading label; every call starts a new count. */
  readonly spreadOver: () => DomainBudget;
}

export interface PlacementStrategy {
  /** Whether the active policy places this request by the imitated system's rules. */
  appliesTo(world: World, request: PlacementRequest): boolean;
  place(world: World, request: PlacementRequest, candidates: CandidateRequest): readonly WorkerAllocation[] | null;
}

const installed = new Slot<PlacementStrategy | null>(() => null, { survivesUndo: true });

/** Called once for every world, before its first round. */
export const installPlacement = (world: World, strategy: PlacementStrategy): void =>
  world.scratch.set(installed, strategy);

/** The strategy that places the request; `null`: nodes are chosen by the policy's `placement`. */
export function placementStrategy(world: World, request: PlacementRequest): PlacementStrategy | null {
  const strategy = world.scratch.get(installed);
  return strategy?.appliesTo(world, request) === true ? strategy : null;
}
