/**
 * Lookups of entities that must exist. Events about one attempt or workload often follow each other, so the last result
 * is cached. This saves most of the map lookups for a workload.
 */
import { InvariantError } from "@headroom/model";
import type { AttemptId, NodeId, WorkloadId, Attempt } from "@headroom/model";
import type { World } from "./world.ts";
import type { WorkloadEntity } from "../state/state.ts";

export function workloadOf(world: World, id: WorkloadId): WorkloadEntity {
  const { recent } = world;
  if (recent.workload !== null && recent.workload.id === id) return recent.workload;
  const workload = world.state.workloads.get(id);
  if (workload === undefined) throw new InvariantError(`no workload ${id}`);
  recent.workload = workload;
  return workload;
}

/** Order of placement. */
export const byPlacement = (left: Attempt, right: Attempt): number => left.placedSequence - right.placedSequence;

/** The attempts with workers on any of the nodes, in order of placement. */
export function attemptsOn({ state, capacity }: World, nodes: Iterable<NodeId>): Attempt[] {
  const ids = new Set<AttemptId>();
  for (const node of nodes) for (const id of capacity.slot(node).attempts.keys()) ids.add(id);
  return [...ids].flatMap((id) => state.attempts.get(id) ?? []).toSorted(byPlacement);
}

/**
 * Caches the workload before it is looked up by id. A workload that waited for long is no longer in the processor's
 * caches, so the lookup would be slow.
 */
export function rememberWorkload({ recent }: World, workload: WorkloadEntity): void {
  recent.workload = workload;
}

/** The attempt with this id, or `undefined` if it has ended. */
export function activeAttempt(world: World, id: AttemptId): Attempt | undefined {
  const { recent } = world;
  if (recent.attempt !== null && recent.attempt.id === id) return recent.attempt;
  const attempt = world.state.attempts.get(id);
  if (attempt !== undefined) recent.attempt = attempt;
  return attempt;
}
