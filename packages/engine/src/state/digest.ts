/**
 * The canonical digest: a hash of everything in the state, in an order that depends on nothing but the state. In large
 * tables, entities are hashed one by one, and the hash is cached until an event touches the entity. The table's digest
 * is the sum of its entities' hashes, lane by lane (an additive multiset hash: Bellare and Micciancio, EUROCRYPT '97),
 * so that a digest hashes only what changed since the last one.
 */
import { canonicalJson } from "../base/canonical.ts";
import { hashInto, hashText } from "../base/hash.ts";
import type { Lanes } from "../base/hash.ts";
import { store, storeWorkload } from "./stored.ts";
import { asWritable } from "./mutable-state.ts";
import type { Digested } from "./mutable-state.ts";
import type { ReadonlyState } from "./state.ts";

export function stateDigest(readonlyState: ReadonlyState): string {
  const state = asWritable(readonlyState);
  const { workloads, attempts, nodes, nowMs, sequence, chain, policy, submittedCount, endedCount } = state;
  return hashText(
    canonicalJson({
      workloads: tableDigest(workloads.values(), storeWorkload),
      attempts: tableDigest(attempts.values(), store),
      nodes: tableDigest(nodes.values(), store),
      sites: state.sites,
      pools: state.pools,
      teams: state.teams,
      // Absent while there are no nominations, so that older states keep their digest.
      ...(state.nominations.size === 0 ? {} : { nominations: state.nominations }),
      ...(state.executors.size === 0 ? {} : { executors: state.executors }),
      ...(state.accounts.size === 0 ? {} : { accounts: state.accounts }),
      ...(state.decayedUsage.size === 0 ? {} : { decayedUsage: state.decayedUsage }),
      ...(state.runTimes.size === 0 ? {} : { runTimes: [...state.runTimes] }),
      ...(state.schedules.size === 0 ? {} : { schedules: state.schedules }),
      ...(state.moved.size === 0 ? {} : { moved: state.moved }),
      ...(state.calendar.size === 0 ? {} : { calendar: state.calendar }),
      ...(state.endedEntries.size === 0 ? {} : { endedEntries: [...state.endedEntries] }),
      ...(state.demand === null ? {} : { demand: state.demand.stored() }),
      // An answer never changes once it is recorded, so its key represents it.
      answers: hashText([...state.answers.keys()].join("\n")),
      scalars: { nowMs, sequence, chain, policy, submittedCount, endedCount },
    }),
  );
}

function tableDigest<T extends Digested>(entities: Iterable<T>, plain: (entity: T) => object): readonly number[] {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let count = 0;
  for (const entity of entities) {
    const lanes =
      entity.digestLanes !== null && entity.digestRevision === entity.revision
        ? entity.digestLanes
        : hashEntity(entity, plain);
    a = (a + lanes.a) | 0;
    b = (b + lanes.b) | 0;
    c = (c + lanes.c) | 0;
    d = (d + lanes.d) | 0;
    count++;
  }
  return [count, a, b, c, d];
}

/**
 * `apply/` and the snapshot reader write an entity's fields in one order, and user-defined maps keep the order of their
 * journaled text. So plain JSON is canonical here; sorting keys would cost five times as much.
 */
function hashEntity<T extends Digested>(entity: T, plain: (entity: T) => object): Lanes {
  const lanes: Lanes = { a: 0, b: 0, c: 0, d: 0 };
  hashInto(lanes, JSON.stringify(plain(entity)));
  entity.digestRevision = entity.revision;
  entity.digestLanes = lanes;
  return lanes;
}
