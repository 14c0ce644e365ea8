/** Inputs in the caches of nodes, as executors report them. Only caches that have changed leave an event. */
import { CACHED_INPUTS_MAX, CACHED_URI_LENGTH_MAX, cachedKey } from "@headroom/model";
import type { CachedInput, NodeCacheReport, Observation } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";

/** A report about nodes of another executor is ignored. */
export function seeNodeCaches(
  batch: Batch,
  { executor, caches }: Observation & { readonly kind: "nodeCachesSeen" },
): void {
  const { nodes, pools } = batch.world.state;
  for (const report of caches) {
    const node = nodes.get(report.nodeId);
    if (node === undefined || pools.get(node.pool)?.executor !== executor) continue;
    const { added, removed } = differences(node.cachedInputs ?? [], kept(report));
    if (added.length + removed.length === 0) continue;
    batch.emit({ kind: "nodeCacheChanged", version: 1, atMs: batch.nowMs, nodeId: node.id, added, removed });
  }
}

/** The largest inputs of the report by key; of two with one key the later one counts. */
function kept({ inputs }: NodeCacheReport): ReadonlyMap<string, CachedInput> {
  const known = new Map<string, CachedInput>();
  for (const { uri, digest, mib } of inputs) {
    if (uri.length > CACHED_URI_LENGTH_MAX || !Number.isSafeInteger(mib) || mib < 0) continue;
    known.set(cachedKey({ uri, digest }), { uri, digest, mib });
  }
  const largest = [...known].toSorted(
    ([leftKey, left], [rightKey, right]) => right.mib - left.mib || (leftKey < rightKey ? -1 : 1),
  );
  return new Map(largest.slice(0, CACHED_INPUTS_MAX));
}

function differences(
  before: readonly CachedInput[],
  now: ReadonlyMap<string, CachedInput>,
): { readonly added: readonly CachedInput[]; readonly removed: readonly string[] } {
  const known = new Map(before.map((input) => [cachedKey(input), input.mib]));
  const added = [...now].filter(([key, { mib }]) => known.get(key) !== mib).map(([, input]) => input);
  return { added, removed: [...known.keys()].filter((key) => !now.has(key)) };
}
