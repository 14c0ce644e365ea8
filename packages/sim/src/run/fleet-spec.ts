/**
 * The declaration of a simulated fleet. It contains the facts that a live control plane learns from files and
 * executors.
 */
import { nodeId, poolName, siteName } from "@headroom/model";
import type { NodeSpec, Pool, Site } from "@headroom/model";

export interface FleetSpec {
  readonly sites: readonly Site[];
  readonly pools: readonly Pool[];
  readonly nodes: readonly NodeSpec[];
}

export const simulatedSite: Site = { name: siteName("simulated"), fabricLevels: [] };

/**
 * Cores and memory of a node that never limits placement: more than any real node has, and small enough that sums stay
 * exact.
 */
const plentyCoresMilli = 1_000_000_000;
const plentyMemoryMib = 1_000_000_000;

/** One pool of accelerators without topology. A single node holds all of them, so that only their number counts. */
export function topologyFreePool(acceleratorCount: number): FleetSpec {
  return uniformFleet({ nodeCount: 1, acceleratorsPerNode: acceleratorCount });
}

/** Identical nodes in one pool. Only their accelerators limit placement. */
export function uniformFleet(shape: { readonly nodeCount: number; readonly acceleratorsPerNode: number }): FleetSpec {
  const pool = poolName("pool");
  const nodes = Array.from({ length: shape.nodeCount }, (_, index): NodeSpec => ({
    id: nodeId(`node-${index}`),
    pool,
    fabric: [],
    acceleratorCount: shape.acceleratorsPerNode,
    coresMilli: plentyCoresMilli,
    memoryMib: plentyMemoryMib,
  }));
  return {
    sites: [simulatedSite],
    pools: [
      {
        name: pool,
        site: simulatedSite.name,
        executor: "simulated",
        acceleratorType: "accelerator",
        priceMicroUsdPerHour: 0,
      },
    ],
    nodes,
  };
}
