/** Declared stores, and transfers of bytes between them and nodes. Only stores that have changed leave an event. */
import { CACHED_URI_LENGTH_MAX, STORES_KEPT, canonicalJson, egressMicroUsd } from "@headroom/model";
import type { Observation, Store, StoreSpec } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { activeAttempt } from "../cluster/entities.ts";
import { siteOf } from "../cluster/transfers.ts";

export function seeStores(batch: Batch, seen: readonly StoreSpec[]): void {
  const { stores } = batch.world.state;
  const listed = new Map(seen.slice(0, STORES_KEPT).map((store) => [store.name, store]));
  const changed = [...listed.values()].filter(
    (store) => canonicalJson(specOf(stores.get(store.name))) !== canonicalJson(store),
  );
  const removed = [...stores.keys()].filter((name) => !listed.has(name));
  if (changed.length + removed.length === 0) return;
  batch.emit({ kind: "storesChanged", version: 1, atMs: batch.nowMs, changed, removed });
}

function specOf(store: Store | undefined): StoreSpec | null {
  if (store === undefined) return null;
  const { links: _links, ...spec } = store;
  return spec;
}

/** Transfers of work that is not known any more, and of stores that are not declared, are left out. */
export function reportTransfer(
  batch: Batch,
  { kind: _kind, nodeId, ...sent }: Observation & { readonly kind: "bytesTransferred" },
): void {
  const { world } = batch;
  const { state } = world;
  const store = state.stores.get(sent.store);
  if (store === undefined || !state.workloads.has(sent.workloadId)) return;
  if (!isPlausible(sent)) return;
  const site = siteOf(world, nodeId ?? activeAttempt(world, sent.attemptId)?.workers[0]?.node);
  // Bytes whose target is unknown are not charged.
  const isCharged = sent.direction === "in" && site !== "";
  const cost = isCharged ? egressMicroUsd(store, sent.bytes, site) : 0;
  const priced = cost === 0 ? {} : { egressMicroUsd: cost };
  batch.emit({ kind: "bytesTransferred", version: 1, atMs: batch.nowMs, ...sent, site, ...priced });
}

const isPlausible = ({
  uri,
  bytes,
  tookMs,
}: {
  readonly uri: string;
  readonly bytes: number;
  readonly tookMs: number;
}): boolean =>
  uri.length <= CACHED_URI_LENGTH_MAX &&
  Number.isSafeInteger(bytes) &&
  bytes > 0 &&
  Number.isSafeInteger(tookMs) &&
  tookMs >= 0;
