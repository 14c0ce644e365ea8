/**
 * Finds the pools that admit the data rule of a workload, and the number of its input data sets that each pool stores.
 */
import { admitsRule, inputsHeld } from "@headroom/model";
import type { NodeId, PoolName, WorkloadSpec } from "@headroom/model";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { World } from "../../cluster/world.ts";

export interface DataPlaces {
  admits(slot: NodeSlot): boolean;
  /** Number of the workload's input data sets that the node's pool stores. */
  held(slot: NodeSlot): number;
  /** The different numbers of input data sets that pools store, in descending order, down to 0. */
  readonly tiers: readonly number[];
}

const NO_TIERS: readonly number[] = [0];
const ANYWHERE: DataPlaces = { admits: () => true, held: () => 0, tiers: NO_TIERS };

export function dataPlaces({ state }: Pick<World, "state">, { data }: Pick<WorkloadSpec, "data">): DataPlaces {
  if (data === undefined) return ANYWHERE;
  const { inputs = [], rule } = data;
  const open = new Set<PoolName>();
  const held = new Map<PoolName, number>();
  for (const pool of state.pools.values()) {
    const site = state.sites.get(pool.site);
    if (rule === undefined || admitsRule(rule, site, pool)) open.add(pool.name);
    const count = inputsHeld(inputs, site, pool);
    if (count > 0 && open.has(pool.name)) held.set(pool.name, count);
  }
  return {
    admits: ({ node }) => open.has(node.pool),
    held: ({ node }) => held.get(node.pool) ?? 0,
    tiers: held.size === 0 ? NO_TIERS : [...new Set([...held.values(), 0])].toSorted((left, right) => right - left),
  };
}

/** Returns whether the data rule in `spec` allows the work on the node. */
export const admitsNode = (world: World, spec: Pick<WorkloadSpec, "data">, node: NodeId): boolean =>
  spec.data?.rule === undefined || dataPlaces(world, spec).admits(world.capacity.slot(node));
