/** A plan: who is to have which place, and who gives it up. Made by a search, checked by `verify/plan.ts`, carried out by `carry-out.ts`. */
import type { Attempt, EvictionReason } from "../../model/workload.ts";
import type { Batch } from "../../batch.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { Placement } from "../request.ts";

export interface Victim {
  readonly attempt: Attempt;
  /** Workers that it keeps; 0: it is evicted whole. */
  readonly keeps: number;
}

export interface Plan {
  readonly beneficiary: PlacementClass;
  readonly placement: Placement;
  readonly victims: readonly Victim[];
}

/** Finds a plan for the head of a class, or none; leaves every index as it was. */
export type PlanSearch = (batch: Batch, beneficiary: PlacementClass, reason: EvictionReason) => Plan | null;
