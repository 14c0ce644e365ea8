/**
 * The fleet with nodes that do not exist yet: those of outstanding orders, and those that might be ordered. Waiting
 * requests are placed there by the code that places them in a round, so that every constraint and quota counts. Nothing
 * of it is an event. Quotas are booked on the live index, so `end` must be called.
 */
import { invariant } from "@headroom/model";
import type { Node, NodeId, NodeShape, Pool } from "@headroom/model";
import { Capacity } from "../cluster/capacity.ts";
import { workloadOf } from "../cluster/entities.ts";
import { FabricIndex } from "../cluster/fabric-index.ts";
import { Ledger } from "../cluster/ledger.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { Placement } from "../cluster/request.ts";
import { Scratch } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import type { ReadonlyState } from "../state/state.ts";
import { findPlacement } from "./place.ts";

/** Nodes of one order, real or considered. They stand in fabric domains of their own: their places are not known. */
interface ExpectedNodes {
  readonly pool: Pool;
  readonly shape: NodeShape;
  /** Name of the order. No name of a node contains a space, so names of expected nodes do. */
  readonly order: string;
  readonly count: number;
}

export class ExtendedFleet {
  readonly #world: World;
  readonly #nodes: Map<NodeId, Node>;
  readonly #ledger: Ledger;
  #ordinal: number;

  constructor(world: World) {
    const nodes = expectedToTakeWork(world.state.nodes);
    const state: ReadonlyState = { ...world.state, nodes };
    const { rules } = world;
    this.#nodes = nodes;
    this.#ordinal = state.joinedNodeCount;
    this.#world = Object.assign(Object.create(world) as World, {
      state,
      capacity: bookedCapacity(world, nodes),
      fabric: new FabricIndex(state),
      scratch: new Scratch(),
      // Scores and placement strategies keep indexes of the live fleet.
      rules: { ...rules, placement: "pack", fabric: { ...rules.fabric, placedBy: null } },
    });
    this.#ledger = new Ledger(this.#world);
  }

  /** Places the request on what is free or expected, and books the place. Returns the place, or `null`. */
  place(request: PlacementRequest): Placement | null {
    const placement = this.#find(request);
    if (placement !== null) this.#ledger.occupy(request, placement);
    return placement;
  }

  /** The fewest further nodes with which the request fits, at most `expected.count`; `null`: it does not fit with those. */
  fewest(request: PlacementRequest, expected: ExpectedNodes): number | null {
    let [low, high] = [1, Math.min(expected.count, request.workers)];
    if (high < 1 || !this.#fitsWith(request, { ...expected, count: high })) return null;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#fitsWith(request, { ...expected, count: middle })) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  join({ pool, shape, order, count }: ExpectedNodes): readonly NodeId[] {
    const levels = this.#world.state.sites.get(pool.site)?.fabricLevels ?? [];
    return Array.from({ length: count }, () => {
      const ordinal = this.#ordinal++;
      const node = expectedNode(pool, { shape, id: `${order} ${ordinal}`, fabric: levels.map(() => order), ordinal });
      this.#nodes.set(node.id, node);
      this.#world.capacity.join(node);
      return node.id;
    });
  }

  end(): void {
    this.#ledger.rollback();
  }

  #find(request: PlacementRequest): Placement | null {
    return findPlacement(this.#world, request);
  }

  #fitsWith(request: PlacementRequest, expected: ExpectedNodes): boolean {
    const joined = this.join(expected);
    const fits = this.#find(request) !== null;
    const { capacity } = this.#world;
    for (const id of joined) {
      const node = this.#nodes.get(id);
      invariant(node !== undefined, `the expected node ${id} is missing`);
      capacity.remove(node);
      this.#nodes.delete(id);
    }
    capacity.settle();
    return fits;
  }
}

/** The order of a node that does not exist yet. */
export const orderOfExpected = (node: NodeId): string => node.slice(0, node.lastIndexOf(" "));

/** The nodes of the fleet. Those that wait for the other nodes of their order, or qualify, count as if they did not. */
function expectedToTakeWork(nodes: ReadonlyMap<NodeId, Node>): Map<NodeId, Node> {
  const expected = new Map(nodes);
  for (const [id, { arriving, qualification, ...node }] of nodes) {
    if (arriving !== true && qualification === undefined) continue;
    expected.set(id, qualification?.phase === "failed" ? { ...node, qualification } : node);
  }
  return expected;
}

interface NewNode {
  readonly id: string;
  readonly shape: NodeShape;
  readonly fabric: readonly string[];
  readonly ordinal: number;
}

const expectedNode = (pool: Pool, { id, shape, fabric, ordinal }: NewNode): Node => ({
  id: id as NodeId,
  pool: pool.name,
  fabric,
  acceleratorCount: shape.acceleratorCount,
  coresMilli: shape.coresMilli,
  memoryMib: shape.memoryMib,
  ...(pool.labels === undefined ? {} : { labels: pool.labels }),
  ordinal,
  acceleratorType: pool.acceleratorType,
  ...(pool.acceleratorFamily === undefined ? {} : { acceleratorFamily: pool.acceleratorFamily }),
  ...(pool.mig === undefined ? {} : { mig: pool.mig }),
  ...(pool.networkGbps === undefined ? {} : { networkGbps: pool.networkGbps }),
  ...(pool.acceleratorMemoryMib === undefined ? {} : { acceleratorMemoryMib: pool.acceleratorMemoryMib }),
  health: "up",
  draining: false,
  joinedAtMs: 0,
});

/** The fleet's capacity with everything that attempts and nominations hold, as `indexState` books it. */
function bookedCapacity(world: World, nodes: ReadonlyMap<NodeId, Node>): Capacity {
  const { state } = world;
  const capacity = new Capacity();
  for (const node of nodes.values()) capacity.join(node);
  capacity.meterPower(state);
  for (const attempt of state.attempts.values()) {
    const { gang } = workloadOf(world, attempt.workloadId).spec;
    if (attempt.stop !== null) capacity.leave(gang, attempt.workers, 1);
    capacity.take(attempt.id, gang, attempt.workers);
    if (attempt.terminating === undefined) continue;
    capacity.leave(gang, attempt.terminating, 1);
    capacity.take(attempt.id, gang, attempt.terminating);
  }
  for (const { workloadId, workers } of state.nominations.values())
    capacity.nomination(workloadOf(world, workloadId).spec.gang, workers, 1);
  return capacity;
}
