/** Declared stores, and the throughput of their last transfers. */
import { LINK_READINGS_KEPT, READING_BYTES_MIN, STORE_LINKS_KEPT } from "@headroom/model";
import type { EventOf, Store, StoreLink } from "@headroom/model";
import type { WritableWorld } from "./writable.ts";

export function changeStores(world: WritableWorld, { changed, removed }: EventOf<"storesChanged">): void {
  const { state, queue } = world;
  for (const name of removed) state.stores.delete(name);
  for (const spec of changed) {
    const known = state.stores.get(spec.name);
    // Readings of another place say nothing about this one.
    const isSame = known?.root === spec.root && known.site === spec.site;
    state.stores.set(spec.name, { ...spec, links: isSame ? known.links : [] });
  }
  // Transfers may take another time, so requests that protected starts blocked may fit now.
  queue.markDirty();
  wakeForPlaces(world);
}

/** As `wakeForPlaces`, for a version: without a declared store its places exclude no executor. */
export function wakeForVersion(world: WritableWorld): void {
  if (world.state.stores.size > 0) wakeForPlaces(world);
}

/** Where the bytes of inputs are decides which executors can run work (`placement/filters/transfers.ts`), once some bring no inputs. */
function wakeForPlaces({ state, capacity, queue }: WritableWorld): void {
  const isSomeUnable = [...state.executors.values()].some(({ capabilities }) => capabilities.inputs === false);
  if (!isSomeUnable) return;
  capacity.nodesChanged();
  queue.markDirty();
}

export function recordTransfer(world: WritableWorld, event: EventOf<"bytesTransferred">): void {
  const { state } = world;
  const store = state.stores.get(event.store);
  const { direction, failed, resumed, bytes } = event;
  const isReading = direction === "in" && failed !== true && resumed !== true && bytes >= READING_BYTES_MIN;
  if (store === undefined || !isReading) return;
  state.stores.set(store.name, withReading(store, event));
  wakeForTransfers(world);
}

/** Transfers count against protected starts: requests that these blocked may fit now. */
export function wakeForTransfers({ state, rules, queue }: WritableWorld): void {
  if (state.stores.size > 0 && rules.backfill.protectedStarts > 0) queue.markDirty();
}

function withReading(store: Store, { site, bytes, tookMs }: EventOf<"bytesTransferred">): Store {
  const kibPerS = Math.max(1, Math.round((bytes / 1_024) * (1_000 / Math.max(1, tookMs))));
  const known = store.links.find((link) => link.site === site)?.readings ?? [];
  const link: StoreLink = { site, readings: [...known, kibPerS].slice(-LINK_READINGS_KEPT) };
  const others = store.links.filter((each) => each.site !== site).slice(0, STORE_LINKS_KEPT - 1);
  return { ...store, links: [...others, link].toSorted((left, right) => (left.site < right.site ? -1 : 1)) };
}
