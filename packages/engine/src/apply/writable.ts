/** The world with its state in the writable form, for `apply/`, and access to its entities. */
import { InvariantError, invariant } from "@headroom/model";
import type { Event, AttemptId, NodeId, WorkloadId, ProducedArtifact, WaitsFor, Workload } from "@headroom/model";
import * as entities from "../cluster/entities.ts";
import type { World } from "../cluster/world.ts";
import { readyTask } from "../state/ready-task.ts";
import type { State, WritableAttempt, WritableNode, WritableWorkload } from "../state/mutable-state.ts";

export interface WritableWorld extends World {
  readonly state: State;
}

/** A family of events: for each kind, the function that folds an event into state and indexes. */
export type Appliers<Family extends Event> = {
  readonly [Kind in Family["kind"]]: (world: WritableWorld, event: Extract<Family, { readonly kind: Kind }>) => void;
};

export const writable = (world: World): WritableWorld => world as WritableWorld;

export const workloadOf = (world: WritableWorld, id: WorkloadId): WritableWorkload =>
  entities.workloadOf(world, id) as WritableWorkload;

export const activeAttempt = (world: WritableWorld, id: AttemptId): WritableAttempt | undefined =>
  entities.activeAttempt(world, id) as WritableAttempt | undefined;

/** The attempt of an event, marked as modified. */
export function touchedAttempt(world: WritableWorld, id: AttemptId): WritableAttempt {
  const attempt = activeAttempt(world, id);
  if (attempt === undefined) throw new InvariantError(`no active attempt ${id}`);
  attempt.revision = world.state.sequence;
  return attempt;
}

/** The workload of an event, marked as modified. */
export function touchedWorkload(world: WritableWorld, id: WorkloadId): WritableWorkload {
  const workload = workloadOf(world, id);
  workload.revision = world.state.sequence;
  return workload;
}

export function nodeOf({ state }: WritableWorld, id: NodeId): WritableNode {
  const node = state.nodes.get(id);
  invariant(node !== undefined, `no node ${id}`);
  return node;
}

export function removeAttempt({ state, recent }: WritableWorld, id: AttemptId): void {
  state.attempts.delete(id);
  if (recent.attempt?.id === id) recent.attempt = null;
}

export function removeWorkload({ state, recent }: WritableWorld, id: WorkloadId): void {
  state.workloads.delete(id);
  if (recent.workload?.id === id) recent.workload = null;
}

/** Adds the workload to the queue if a task of it is eligible. */
export function queueIfReady({ queue }: WritableWorld, workload: WritableWorkload, atMs: number): void {
  if (workload.endedAtMs === null && readyTask(workload, atMs) !== null && !queue.has(workload)) queue.add(workload);
}

/**
 * Removes met dependencies on a workload from the work that waits for it, so that this work may start. A dependency
 * that is not met stays, and the round decides about it. `given`: the artifact that met the dependencies.
 */
export function meetDependencies(
  world: WritableWorld,
  dependents: readonly WorkloadId[],
  isMet: (wait: WaitsFor) => boolean,
  { atMs, given }: { readonly atMs: number; readonly given?: ProducedArtifact },
): void {
  for (const id of dependents) {
    const dependent = world.state.workloads.get(id);
    if (dependent?.waitsFor === undefined || dependent.endedAtMs !== null) continue;
    const left = dependent.waitsFor.filter((wait) => !isMet(wait));
    if (left.length === dependent.waitsFor.length) continue;
    if (left.length === 0) delete dependent.waitsFor;
    else dependent.waitsFor = left;
    if (given !== undefined) dependent.given = withArtifact(dependent.given, given);
    dependent.revision = world.state.sequence;
    queueIfReady(world, dependent, atMs);
  }
}

/** The newest report of a name replaces the older one. */
export const withArtifact = (
  known: Workload["artifacts"] = [],
  artifact: ProducedArtifact,
): readonly ProducedArtifact[] => [...known.filter(({ name }) => name !== artifact.name), artifact];
