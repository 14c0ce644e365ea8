/**
 * Entities without bookkeeping fields and with their maps as lists of entries: the form in which they are hashed and
 * stored.
 */
import type { Digested, WritableAttempt, WritableNode, WritableWorkload } from "./mutable-state.ts";

type Entries = readonly (readonly [number, number])[];
export type StoredWorkload = Omit<
  WritableWorkload,
  "digestRevision" | "digestLanes" | "placementClass" | "failureCounts" | "attemptCounts"
> & {
  readonly failureCounts: Entries;
  readonly attemptCounts: Entries;
};
export type Stored<T extends Digested> = Omit<T, "digestRevision" | "digestLanes">;
export type StoredAttempt = Stored<WritableAttempt>;
export type StoredNode = Stored<WritableNode>;

const byKey = (counts: ReadonlyMap<number, number>): Entries =>
  counts.size === 0 ? [] : [...counts].toSorted(([left], [right]) => left - right);

export function storeWorkload(entity: WritableWorkload): StoredWorkload {
  const { digestRevision: _revision, digestLanes: _lanes, placementClass: _class, ...plain } = entity;
  return { ...plain, failureCounts: byKey(entity.failureCounts), attemptCounts: byKey(entity.attemptCounts) };
}

export function store<T extends Digested>(entity: T): Stored<T> {
  const { digestRevision: _revision, digestLanes: _lanes, ...plain } = entity;
  return plain;
}
