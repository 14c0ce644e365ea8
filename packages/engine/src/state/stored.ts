/** Entities without bookkeeping and with their maps as entries: the form in which they are hashed and stored. */
import type { AttemptEntity, Digested, NodeEntity, WorkloadEntity } from "./mutable-state.ts";

type Entries = readonly (readonly [number, number])[];
export type StoredWorkload = Omit<
  WorkloadEntity,
  "digestRevision" | "digestLanes" | "placementClass" | "failureCounts" | "attemptCounts"
> & {
  readonly failureCounts: Entries;
  readonly attemptCounts: Entries;
};
export type Stored<T extends Digested> = Omit<T, "digestRevision" | "digestLanes">;
export type StoredAttempt = Stored<AttemptEntity>;
export type StoredNode = Stored<NodeEntity>;

const byKey = (counts: ReadonlyMap<number, number>): Entries =>
  counts.size === 0 ? [] : [...counts].toSorted(([left], [right]) => left - right);

export function storeWorkload(entity: WorkloadEntity): StoredWorkload {
  const { digestRevision: _revision, digestLanes: _lanes, placementClass: _class, ...plain } = entity;
  return { ...plain, failureCounts: byKey(entity.failureCounts), attemptCounts: byKey(entity.attemptCounts) };
}

export function store<T extends Digested>(entity: T): Stored<T> {
  const { digestRevision: _revision, digestLanes: _lanes, ...plain } = entity;
  return plain;
}
