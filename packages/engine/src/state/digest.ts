/**
 * The canonical digest: a hash of everything in the state, in an order that depends on nothing but the state. In large
 * tables, entities are hashed one by one, and the hash is cached until an event touches the entity. The table's digest
 * is the sum of its entities' hashes, lane by lane (an additive multiset hash: Bellare and Micciancio, EUROCRYPT '97),
 * so that a digest hashes only what changed since the last one.
 */
import { canonicalJson, hashInto, hashText } from "@headroom/model";
import type { Lanes } from "@headroom/model";
import { store, storeWorkload } from "./stored.ts";
import { asWritable } from "./mutable-state.ts";
import type { Digested } from "./mutable-state.ts";
import type { ReadonlyState } from "./state.ts";
import { digestedTables } from "./tables.ts";

export function stateDigest(readonlyState: ReadonlyState): string {
  const state = asWritable(readonlyState);
  const { nowMs, sequence, chain, policy, submittedCount, endedCount, joinedNodeCount, pipelineRunCount } = state;
  return hashText(
    canonicalJson({
      workloads: tableDigest(state.workloads.values(), storeWorkload),
      attempts: tableDigest(state.attempts.values(), store),
      nodes: tableDigest(state.nodes.values(), store),
      ...(state.artifacts.size === 0
        ? {}
        : {
            artifacts: tableDigest(state.artifacts.values(), store),
            artifactVersions: tableDigest(state.artifactVersions.values(), store),
          }),
      ...digestedTables(state, (keys) => hashText(keys.join("\n"))),
      ...(pipelineRunCount === 0 ? {} : { pipelineRunCount }),
      ...(state.demand === null ? {} : { demand: state.demand.stored() }),
      // While no node was ever removed, the table of nodes gives the counter.
      ...(joinedNodeCount === state.nodes.size ? {} : { joinedNodeCount }),
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
