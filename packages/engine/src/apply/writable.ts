/** The world with its state in the writable form, for the rooms of `apply/`, and its entities. */
import type { AttemptId, WorkloadId } from "../model/ids.ts";
import * as entities from "../cluster/entities.ts";
import type { World } from "../cluster/world.ts";
import type { State, WritableAttempt, WritableWorkload } from "../state/mutable-state.ts";

export interface WritableWorld extends World {
  readonly state: State;
}

export const writable = (world: World): WritableWorld => world as WritableWorld;

export const workloadOf = (world: WritableWorld, id: WorkloadId): WritableWorkload =>
  entities.workloadOf(world, id) as WritableWorkload;

/** The attempt, if it has not ended. */
export const activeAttempt = (world: WritableWorld, id: AttemptId): WritableAttempt | undefined =>
  entities.activeAttempt(world, id) as WritableAttempt | undefined;

/** Takes an ended attempt out of the state and out of memory. */
export function removeAttempt({ state, recent }: WritableWorld, id: AttemptId): void {
  state.attempts.delete(id);
  if (recent.attempt?.id === id) recent.attempt = null;
}

/** Takes a workload that is no longer kept out of the state and out of memory. */
export function removeWorkload({ state, recent }: WritableWorld, id: WorkloadId): void {
  state.workloads.delete(id);
  if (recent.workload?.id === id) recent.workload = null;
}
