/** The world with its state in the writable form, for `apply/`, and access to its entities. */
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

/** An attempt that has not ended; `undefined`: none. */
export const activeAttempt = (world: WritableWorld, id: AttemptId): WritableAttempt | undefined =>
  entities.activeAttempt(world, id) as WritableAttempt | undefined;

/** Removes an ended attempt from the state and from memory. */
export function removeAttempt({ state, recent }: WritableWorld, id: AttemptId): void {
  state.attempts.delete(id);
  if (recent.attempt?.id === id) recent.attempt = null;
}

/** Removes a workload that is no longer kept from the state and from memory. */
export function removeWorkload({ state, recent }: WritableWorld, id: WorkloadId): void {
  state.workloads.delete(id);
  if (recent.workload?.id === id) recent.workload = null;
}
