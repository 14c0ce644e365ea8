/** A plan: who is to have which place, and who gives it up. Made by a search, checked by `preemption/verify-plan.ts`, carried out by `carry-out.ts`. */
import type { Attempt, EvictionReason, EvictionRight, Nomination } from "../model/workload.ts";
import type { Batch } from "../batch/batch.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { Placement } from "../cluster/request.ts";

export interface Victim {
  readonly attempt: Attempt;
  /** Workers that it keeps; 0: it is evicted whole. */
  readonly keeps: number;
  /** By what right, where the search knows more than the reason of the plan. */
  readonly right?: EvictionRight;
  /** Of the workers that leave, so many have a place elsewhere in the plan; absent: none. */
  readonly moving?: number;
}

/** Where work that gives up its place would go on. */
export interface Move {
  readonly attempt: Attempt;
  readonly bucket: QueueBucket;
  readonly placement: Placement;
}

export interface Plan {
  readonly preemptor: QueueBucket;
  readonly placement: Placement;
  readonly victims: readonly Victim[];
  /** Promised places that are given up for it; absent: none. */
  readonly withdrawn?: readonly Nomination[];
  /** Loans that keep running where they are, on what is idle; absent: none. */
  readonly relabelled?: readonly Attempt[];
  /** Absent: nobody moves. */
  readonly moves?: readonly Move[];
}

/** Whether nobody gives anything up for it. */
export const takesNothing = ({ victims, withdrawn = [], relabelled = [] }: Plan): boolean =>
  victims.length === 0 && withdrawn.length === 0 && relabelled.length === 0;

/** Finds a plan for the head of a class, or none; leaves every index as it was. */
export type PlanSearch = (batch: Batch, preemptor: QueueBucket, reason: EvictionReason) => Plan | null;
