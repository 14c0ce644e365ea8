/**
 * The draw of work in domains with a cap, kept up to date with every booking, tentative ones included. It exists only while a site has
 * caps. When nodes change, it is built again from the slots of the nodes, so it is exact at any time. Amounts are thousandths of a watt,
 * because workers can hold thousandths of an accelerator.
 */
import { WHOLE_MILLI, SLICE_MILLI, cappedDomainsOf, fractionOn, needsFraction } from "@headroom/model";
import type { CappedDomain, NodeId, Pool, PoolName, Site, SiteName, WorkerShape } from "@headroom/model";
import { partOn } from "./device-slices.ts";
import type { Booked } from "./marks.ts";
import type { Layer, NodeSlot } from "./node-slot.ts";

/** `empty`: the fleet without any work. */
export type PowerLayer = Layer | "empty";

export interface PowerMeter {
  readonly domain: CappedDomain;
  /** Draw of the nodes of the domain, whether work runs on them or not. */
  nodesMilliwatts: number;
  /** Draw of held and nominated accelerators. */
  takenMilliwatts: number;
  /** Draw of accelerators that terminating work releases. */
  releasingMilliwatts: number;
}

/** The meters of a node, and the draw of one whole accelerator. */
interface NodeMeters {
  readonly meters: readonly PowerMeter[];
  readonly acceleratorWatts: number;
}

interface DeclaredFleet {
  readonly sites: ReadonlyMap<SiteName, Site>;
  readonly pools: ReadonlyMap<PoolName, Pool>;
}

interface MeteredNodes {
  readonly nodesEpoch: number;
  readonly slots: Iterable<NodeSlot>;
}

const UNMETERED: NodeMeters = { meters: [], acceleratorWatts: 0 };

export const hasPowerCaps = ({ sites }: Pick<DeclaredFleet, "sites">): boolean =>
  [...sites.values()].some(({ caps }) => caps !== undefined);

export class PowerMeters {
  readonly #fleet: DeclaredFleet;
  readonly #nodes: MeteredNodes;
  /** Value of `nodesEpoch` at which the meters were built. */
  #epoch = -1;
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

  book(layer: Booked, slot: NodeSlot, shape: WorkerShape, sign: 1 | -1): void {
    // Meters of earlier nodes are built again before they are read.
    if (this.#epoch !== this.#nodes.nodesEpoch) return;
    const { meters, acceleratorWatts } = this.#of(slot);
    if (meters.length === 0) return;
    const milliwatts = sign * milliOn(slot, shape) * counted(acceleratorWatts);
    for (const meter of meters)
      if (layer === "terminating") meter.releasingMilliwatts += milliwatts;
      else meter.takenMilliwatts += milliwatts;
  }

  /** The draw of one worker on the node in thousandths of a watt. `Infinity`: the pool does not state it. */
  drawOn(slot: NodeSlot, shape: WorkerShape): number {
    const milli = milliOn(slot, shape);
    return milli === 0 ? 0 : milli * this.metersOf(slot).acceleratorWatts;
  }

  metersOf(slot: NodeSlot): NodeMeters {
    this.#settle();
    return this.#of(slot);
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
  }

  #build(slot: NodeSlot, known: Map<string, PowerMeter>): NodeMeters {
    const pool = this.#fleet.pools.get(slot.node.pool);
    const domains = cappedDomainsOf(slot.node, pool === undefined ? undefined : this.#fleet.sites.get(pool.site));
    if (domains.length === 0) return UNMETERED;
    const { acceleratorWatts = Number.POSITIVE_INFINITY, nodeWatts = 0 } = pool?.power ?? {};
    const { taken, releasing } = bookedMilli(slot);
    const watts = counted(acceleratorWatts);
    const meters = domains.map((domain) => {
      const key = JSON.stringify([domain.of, domain.level, domain.path]);
      const meter = known.get(key) ?? { domain, nodesMilliwatts: 0, takenMilliwatts: 0, releasingMilliwatts: 0 };
      known.set(key, meter);
      meter.nodesMilliwatts += nodeWatts * 1000;
      meter.takenMilliwatts += taken * watts;
      meter.releasingMilliwatts += releasing * watts;
      return meter;
    });
    return { meters, acceleratorWatts };
  }
}

/** Thousandths of a watt that the domain has left. Negative if a cap was lowered later. */
export function leftOf(
  { domain, nodesMilliwatts, takenMilliwatts, releasingMilliwatts }: PowerMeter,
  layer: PowerLayer,
): number {
  const left = domain.watts * 1000 - nodesMilliwatts;
  if (layer === "empty") return left;
  return left - takenMilliwatts + (layer === "idle" ? 0 : releasingMilliwatts);
}

/** Running work of a pool without a stated draw counts as none: its draw is unknown, and nothing more is placed there. */
const counted = (watts: number): number => (Number.isFinite(watts) ? watts : 0);

/** Thousandths of accelerators that one worker holds on the node. */
function milliOn({ node }: NodeSlot, shape: WorkerShape): number {
  if (shape.profile !== undefined) return SLICE_MILLI * (partOn(node, shape)?.size ?? 0);
  return needsFraction(shape) ? fractionOn(shape, node) : shape.accelerators * WHOLE_MILLI;
}

function bookedMilli(slot: NodeSlot): { readonly taken: number; readonly releasing: number } {
  let taken = 0;
  let releasing = 0;
  for (let index = 0; index < slot.totalCount; index++) {
    const left = slot.left(index, "idle");
    taken += WHOLE_MILLI - left;
    releasing += slot.left(index, "releasing") - left;
  }
  return { taken, releasing };
}
