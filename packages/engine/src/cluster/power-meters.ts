/**
 * The draw of work in domains with a cap, kept up to date with every booking, tentative ones included. It exists only while a site has
 * caps. When nodes change, it is built again from the slots of the nodes, so it is exact at any time. Amounts are thousandths of a watt,
 * because workers can hold thousandths of an accelerator.
 */
import { WHOLE_MILLI, SLICE_MILLI, cappedDomainsOf, fractionOn, needsFraction, shapeOf } from "@headroom/model";
import type {
  CappedDomain,
  GangSpec,
  NodeId,
  Pool,
  PoolName,
  Site,
  SiteName,
  WorkerAllocation,
  WorkerShape,
} from "@headroom/model";
import { partOn } from "./device-slices.ts";
import type { Layer, NodeSlot } from "./node-slot.ts";

/** `empty`: the fleet without any work. */
export type PowerLayer = Layer | "empty";

export interface PowerMeter {
  readonly domain: CappedDomain;
  /** Draw of the nodes of the domain, whether work runs on them or not. */
  nodesMilliwatts: number;
  /** Draw of accelerators that are held, nominated, or used by work that Headroom does not run. */
  takenMilliwatts: number;
  /** Draw of accelerators that terminating work releases. */
  releasingMilliwatts: number;
  /** Draw of accelerators that are in use now: as taken, without nominations. */
  heldMilliwatts: number;
  /** Draw of protected starts that running work gives back before they begin (`placement/backfill/power-credits.ts`). */
  lentMilliwatts: number;
}

/** Thousandths of accelerators of a node. */
interface BookedMilli {
  readonly taken: number;
  readonly releasing: number;
  readonly held: number;
}

/** The meters of a node, the draw of one whole accelerator, and the amounts of the node that are in the meters. */
interface NodeMeters {
  readonly meters: readonly PowerMeter[];
  /** Accelerator type of the node; `null`: it has no accelerators. */
  readonly acceleratorType: string | null;
  readonly acceleratorWatts: number;
  counted: BookedMilli;
}

interface DeclaredFleet {
  readonly sites: ReadonlyMap<SiteName, Site>;
  readonly pools: ReadonlyMap<PoolName, Pool>;
}

interface MeteredNodes {
  readonly nodesEpoch: number;
  readonly slots: Iterable<NodeSlot>;
  slot(id: NodeId): NodeSlot;
}

const NONE: BookedMilli = { taken: 0, releasing: 0, held: 0 };
const UNMETERED: NodeMeters = { meters: [], acceleratorType: null, acceleratorWatts: 0, counted: NONE };

export const hasPowerCaps = ({ sites }: Pick<DeclaredFleet, "sites">): boolean =>
  [...sites.values()].some(({ caps }) => caps !== undefined);

export class PowerMeters {
  readonly #fleet: DeclaredFleet;
  readonly #nodes: MeteredNodes;
  /** Value of `nodesEpoch` at which the meters were built. */
  #epoch = -1;
  /** `null`: not computed for these nodes yet. */
  #areCrossing: boolean | null = null;
  #meters: ReadonlyMap<string, PowerMeter> = new Map();
  #ofNode: ReadonlyMap<NodeId, NodeMeters> = new Map();

  constructor(fleet: DeclaredFleet, nodes: MeteredNodes) {
    this.#fleet = fleet;
    this.#nodes = nodes;
  }

  /** All capped domains with nodes. */
  get all(): Iterable<PowerMeter> {
    this.#settle();
    return this.#meters.values();
  }

  /** Takes over the amounts of the node after a booking. */
  recount(slot: NodeSlot): void {
    // Meters of earlier nodes are built again before they are read.
    if (this.#epoch !== this.#nodes.nodesEpoch) return;
    const own = this.#of(slot);
    if (own.meters.length === 0) return;
    const before = own.counted;
    own.counted = bookedMilli(slot);
    const watts = counted(own.acceleratorWatts);
    for (const meter of own.meters) {
      meter.takenMilliwatts += (own.counted.taken - before.taken) * watts;
      meter.releasingMilliwatts += (own.counted.releasing - before.releasing) * watts;
      meter.heldMilliwatts += (own.counted.held - before.held) * watts;
    }
  }

  /** The draw of one worker on the node in thousandths of a watt. `Infinity`: the pool does not state it. */
  drawOn(slot: NodeSlot, shape: WorkerShape): number {
    const milli = milliOn(slot, shape);
    return milli === 0 ? 0 : milli * this.metersOf(slot).acceleratorWatts;
  }

  /** The draw of workers of a gang by domain, in thousandths of a watt. */
  drawsOf(gang: GangSpec, workers: readonly WorkerAllocation[]): ReadonlyMap<PowerMeter, number> {
    const draws = new Map<PowerMeter, number>();
    for (const worker of workers) {
      const slot = this.#nodes.slot(worker.node);
      const draw = this.drawOn(slot, shapeOf(gang, worker));
      if (draw === 0) continue;
      for (const meter of this.metersOf(slot).meters) draws.set(meter, (draws.get(meter) ?? 0) + draw);
    }
    return draws;
  }

  metersOf(slot: NodeSlot): Readonly<NodeMeters> {
    this.#settle();
    return this.#of(slot);
  }

  /**
   * Whether the order in which nodes of one accelerator type are filled can decide how much fits: two domains overlap and neither
   * contains the other, or accelerators of one type draw unlike amounts in one domain.
   */
  get areCrossing(): boolean {
    this.#settle();
    return (this.#areCrossing ??= areCrossing([...this.#ofNode.values()]));
  }

  /**
   * Whether the domains of the node draw no more than their caps in the capacity view. False if the pool of a node under a cap does not
   * state its draw.
   */
  isWithin(slot: NodeSlot, layer: PowerLayer): boolean {
    const { meters, acceleratorWatts } = this.metersOf(slot);
    return meters.every((meter) => Number.isFinite(acceleratorWatts) && leftOf(meter, layer) >= 0);
  }

  #of({ node }: NodeSlot): NodeMeters {
    return this.#ofNode.get(node.id) ?? UNMETERED;
  }

  #settle(): void {
    if (this.#epoch === this.#nodes.nodesEpoch) return;
    const meters = new Map<string, PowerMeter>();
    const ofNode = new Map<NodeId, NodeMeters>();
    for (const slot of this.#nodes.slots) {
      const own = this.#build(slot, meters);
      if (own.meters.length > 0) ofNode.set(slot.node.id, own);
    }
    this.#meters = meters;
    this.#ofNode = ofNode;
    this.#epoch = this.#nodes.nodesEpoch;
    this.#areCrossing = null;
    for (const slot of this.#nodes.slots) this.recount(slot);
  }

  #build(slot: NodeSlot, known: Map<string, PowerMeter>): NodeMeters {
    const pool = this.#fleet.pools.get(slot.node.pool);
    const domains = cappedDomainsOf(slot.node, pool === undefined ? undefined : this.#fleet.sites.get(pool.site));
    if (domains.length === 0) return UNMETERED;
    const { acceleratorWatts = Number.POSITIVE_INFINITY, nodeWatts = 0 } = pool?.power ?? {};
    const meters = domains.map((domain) => {
      const key = JSON.stringify([domain.of, domain.level, domain.path]);
      const meter = known.get(key) ?? newMeter(domain);
      known.set(key, meter);
      meter.nodesMilliwatts += nodeWatts * 1000;
      return meter;
    });
    const { acceleratorType } = slot.node;
    return { meters, acceleratorType: slot.totalCount === 0 ? null : acceleratorType, acceleratorWatts, counted: NONE };
  }
}

function areCrossing(nodes: readonly NodeMeters[]): boolean {
  const sizes = new Map<PowerMeter, number>();
  const shared = new Map<PowerMeter, Map<PowerMeter, number>>();
  const watts = new Map<PowerMeter, Map<string, number>>();
  for (const { meters, acceleratorType, acceleratorWatts } of nodes)
    for (const [at, meter] of meters.entries()) {
      const ofMeter = watts.get(meter) ?? new Map<string, number>();
      watts.set(meter, ofMeter);
      if (acceleratorType !== null) {
        if ((ofMeter.get(acceleratorType) ?? acceleratorWatts) !== acceleratorWatts) return true;
        ofMeter.set(acceleratorType, acceleratorWatts);
      }
      sizes.set(meter, (sizes.get(meter) ?? 0) + 1);
      const beside = shared.get(meter) ?? new Map<PowerMeter, number>();
      shared.set(meter, beside);
      for (const other of meters.slice(at + 1)) beside.set(other, (beside.get(other) ?? 0) + 1);
    }
  const isNested = (meter: PowerMeter, other: PowerMeter, count: number): boolean =>
    count === Math.min(sizes.get(meter) ?? 0, sizes.get(other) ?? 0);
  return [...shared].some(([meter, beside]) => [...beside].some(([other, count]) => !isNested(meter, other, count)));
}

const newMeter = (domain: CappedDomain): PowerMeter => ({
  domain,
  nodesMilliwatts: 0,
  takenMilliwatts: 0,
  releasingMilliwatts: 0,
  heldMilliwatts: 0,
  lentMilliwatts: 0,
});

/** Thousandths of a watt that the domain has left. Negative if a cap was lowered later. */
export function leftOf(meter: PowerMeter, layer: PowerLayer): number {
  const { domain, nodesMilliwatts, takenMilliwatts, releasingMilliwatts, lentMilliwatts } = meter;
  const left = domain.watts * 1000 - nodesMilliwatts;
  if (layer === "empty") return left;
  return left - takenMilliwatts + lentMilliwatts + (layer === "idle" ? 0 : releasingMilliwatts);
}

/** Running work of a pool without a stated draw counts as none: its draw is unknown, and nothing more is placed there. */
const counted = (watts: number): number => (Number.isFinite(watts) ? watts : 0);

/** Thousandths of accelerators that one worker holds on the node. */
function milliOn({ node }: NodeSlot, shape: WorkerShape): number {
  if (shape.profile !== undefined) return SLICE_MILLI * (partOn(node, shape)?.size ?? 0);
  return needsFraction(shape) ? fractionOn(shape, node) : shape.accelerators * WHOLE_MILLI;
}

/** An accelerator in foreign use draws as much as one that work holds. */
function bookedMilli(slot: NodeSlot): BookedMilli {
  let [taken, releasing, held] = [0, 0, 0];
  for (let index = 0; index < slot.totalCount; index++) {
    const left = slot.left(index, "idle");
    const own = WHOLE_MILLI - left;
    const foreign = slot.isForeign(index) && own === 0 ? WHOLE_MILLI : 0;
    taken += own + foreign;
    releasing += slot.left(index, "releasing") - left;
    held += (slot.held[index] ?? 0) + foreign;
  }
  return { taken, releasing, held };
}
