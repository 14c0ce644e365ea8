/**
 * Chooses hot spares: the declared number for each pool, or fewer if not enough of its nodes are empty. Hot spares are
 * spread over as many fabric domains as possible, the widest level first. If two nodes are equal, the one that joined
 * first is chosen. A node that is drained, lost or needed by the calendar stops being a hot spare, and another node
 * replaces it.
 */
import { HOT_SPARE_AHEAD_MS, takesWork } from "@headroom/model";
import type { HotSpareEnd, Pool, PoolName } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { NodeSlot } from "../cluster/node-slot.ts";
import type { World } from "../cluster/world.ts";

export function keepHotSpares(batch: Batch): void {
  const { capacity, calendar } = batch.world;
  if (!mayHaveHotSpares(batch.world)) return;
  // Nothing changes the choice: since the last one, no node has become empty, and no node has started or stopped taking
  // work.
  if (capacity.hotSparesSettledAt !== capacity.freedEpoch || calendar.hasWindows) chooseHotSpares(batch);
}

function chooseHotSpares(batch: Batch): void {
  const { capacity, state } = batch.world;
  for (const slot of [...capacity.hotSpares].toSorted(byOrdinal)) {
    const reason = whyNone(batch, slot);
    if (reason !== null) release(batch, slot, reason);
  }
  const byPool = Map.groupBy(capacity.hotSpares, ({ node }) => node.pool);
  const joined = firstJoined(batch.world);
  // A pool without nodes has no hot spares. Pools are visited in the order of their first nodes, so that neither their
  // names nor the order of their declarations matter.
  const pools = [...state.pools.values()].filter(({ name }) => joined.has(name));
  pools.sort((left, right) => (joined.get(left.name) as number) - (joined.get(right.name) as number));
  for (const pool of pools) keepOf(batch, pool, byPool.get(pool.name) ?? []);
  capacity.hotSparesSettledAt = capacity.freedEpoch;
}

/** The ordinal of the node that joined first, for each pool. */
function firstJoined({ state }: World): ReadonlyMap<PoolName, number> {
  const first = new Map<PoolName, number>();
  for (const { pool, ordinal } of state.nodes.values()) first.set(pool, Math.min(ordinal, first.get(pool) ?? ordinal));
  return first;
}

const byOrdinal = (left: NodeSlot, right: NodeSlot): number => left.node.ordinal - right.node.ordinal;

/** Whether a pool declares hot spares, or a node is still a hot spare. */
export const mayHaveHotSpares = ({ hotSparesStated, capacity }: World): boolean =>
  hotSparesStated > 0 || capacity.hotSpares.size > 0;

function keepOf(batch: Batch, { name, hotSpares: wanted = 0 }: Pool, kept: readonly NodeSlot[]): void {
  const crowd = new Crowd(kept);
  const hotSpares = [...kept];
  while (hotSpares.length > wanted) {
    const last = hotSpares.reduce((most, each) => (crowd.compare(each, most) > 0 ? each : most));
    hotSpares.splice(hotSpares.indexOf(last), 1);
    crowd.count(last, -1);
    release(batch, last, "fewer");
  }
  if (hotSpares.length === wanted) return;
  const candidates = emptyNodes(batch, name);
  for (let count = hotSpares.length; count < wanted && candidates.length > 0; count++) {
    const next = candidates.reduce((least, each) => (crowd.compare(each, least) < 0 ? each : least));
    candidates.splice(candidates.indexOf(next), 1);
    crowd.count(next, 1);
    batch.emit({ kind: "hotSpareReserved", version: 1, atMs: batch.nowMs, nodeId: next.node.id });
  }
}

/** Nodes of the pool that hold no work, foreign work included, and no nominations, and that the calendar does not need. */
function emptyNodes(batch: Batch, pool: PoolName): NodeSlot[] {
  const { state, capacity } = batch.world;
  const found: NodeSlot[] = [];
  for (const { id, pool: of } of state.nodes.values()) {
    const slot = of === pool ? capacity.slot(id) : null;
    if (slot === null || !slot.usable || !slot.isEmpty || slot.node.foreignUse !== undefined) continue;
    if (!isInCalendar(batch, slot, HOT_SPARE_AHEAD_MS)) found.push(slot);
  }
  return found;
}

/** Number of hot spares in each fabric domain. */
class Crowd {
  readonly #counts = new Map<string, number>();
  readonly #domains = new Map<NodeSlot, readonly string[]>();

  constructor(hotSpares: readonly NodeSlot[]) {
    for (const slot of hotSpares) this.count(slot, 1);
  }

  count(slot: NodeSlot, sign: 1 | -1): void {
    for (const domain of this.#domainsOf(slot)) this.#counts.set(domain, (this.#counts.get(domain) ?? 0) + sign);
  }

  /** Orders nodes by the number of hot spares in their domains, fewest first. The widest level is compared first. */
  compare(left: NodeSlot, right: NodeSlot): number {
    const others = this.#domainsOf(right);
    for (const [depth, domain] of this.#domainsOf(left).entries()) {
      const difference = (this.#counts.get(domain) ?? 0) - (this.#counts.get(others[depth] ?? "") ?? 0);
      if (difference !== 0) return difference;
    }
    return byOrdinal(left, right);
  }

  #domainsOf(slot: NodeSlot): readonly string[] {
    const known = this.#domains.get(slot);
    if (known !== undefined) return known;
    const { fabric } = slot.node;
    const domains = fabric.map((_, depth) => JSON.stringify(fabric.slice(0, depth + 1)));
    this.#domains.set(slot, domains);
    return domains;
  }
}

/** The reason why the node must stop being a hot spare. `null` if it can remain one. */
function whyNone(batch: Batch, slot: NodeSlot): HotSpareEnd | null {
  if (!takesWork(slot.node)) return slot.node.health === "lost" ? "lost" : "drained";
  if (slot.node.foreignUse !== undefined) return "foreignWork";
  return isInCalendar(batch, slot, 0) ? "calendar" : null;
}

/** Whether a window takes the node now or within `aheadMs`, or a reservation includes the node at any time. */
const isInCalendar = ({ world, nowMs }: Batch, { node }: NodeSlot, aheadMs: number): boolean =>
  world.calendar.windows.some(
    ({ window, nodes }) => nodes.has(node.id) && (window.kind === "reservation" || window.startMs <= nowMs + aheadMs),
  );

function release(batch: Batch, { node }: NodeSlot, reason: HotSpareEnd): void {
  const { nowMs: atMs } = batch;
  batch.emit({ kind: "hotSpareReleased", version: 1, atMs, nodeId: node.id, reason, workloadId: null });
}
