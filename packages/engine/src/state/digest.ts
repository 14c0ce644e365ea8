/**
 * The canonical digest: a hash of everything in the state, in an order that depends on nothing but the state. Entities that
 * come by the hundred thousand are hashed one by one and remembered until an event touches them; their table's digest is
 * the sum of theirs, lane by lane (an additive multiset hash: Bellare and Micciancio, EUROCRYPT '97), so that a digest
 * hashes only what changed since the last one.
 */
import { canonicalJson } from "./canonical.ts";
import { hashInto, hashText } from "./hash.ts";
import type { Lanes } from "./hash.ts";
import type { Digested, State } from "./world.ts";

/** Fields that are bookkeeping of the digest itself. */
const NOT_DIGESTED: ReadonlySet<string> = new Set(["digestRevision", "digestLanes"]);

export function stateDigest(state: State): string {
  const { workloads, attempts, nodes, nowMs, sequence, chain, policy, submittedCount, endedCount } = state;
  return hashText(
    canonicalJson({
      workloads: tableDigest(workloads.values()),
      attempts: tableDigest(attempts.values()),
      nodes: tableDigest(nodes.values()),
      sites: state.sites,
      pools: state.pools,
      teams: state.teams,
      // A retained answer never changes, so its key stands for it.
      answers: hashText([...state.answers.keys()].join("\n")),
      scalars: { nowMs, sequence, chain, policy, submittedCount, endedCount },
    }),
  );
}

/** An entity without the digest's bookkeeping: what is hashed and what a snapshot stores. */
export function plainEntity<T extends Digested>(entity: T): Omit<T, "digestRevision" | "digestLanes"> {
  return Object.fromEntries(Object.entries(entity).filter(([key]) => !NOT_DIGESTED.has(key))) as Omit<T, "digestRevision" | "digestLanes">;
}

function tableDigest(entities: Iterable<Digested>): readonly number[] {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let count = 0;
  for (const entity of entities) {
    const lanes = entity.digestLanes !== null && entity.digestRevision === entity.revision ? entity.digestLanes : hashEntity(entity);
    a = (a + lanes.a) | 0;
    b = (b + lanes.b) | 0;
    c = (c + lanes.c) | 0;
    d = (d + lanes.d) | 0;
    count++;
  }
  return [count, a, b, c, d];
}

function hashEntity(entity: Digested): Lanes {
  const lanes: Lanes = { a: 0, b: 0, c: 0, d: 0 };
  hashInto(lanes, canonicalJson(plainEntity(entity)));
  entity.digestRevision = entity.revision;
  entity.digestLanes = lanes;
  return lanes;
}
