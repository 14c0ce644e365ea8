/** One tier of a tree-like fabric. Tiers are listed from the nodes upwards. */
export interface FabricTier {
  readonly name: string;
  /**
   * Number of nodes below one switch (or group of switches) of this tier. Traffic among these nodes does not cross the
   * next tier.
   */
  readonly nodeCount: number;
  /** Bandwidth to the nodes below, divided by the bandwidth to the next tier. 1 means non-blocking. */
  readonly oversubscription: number;
}

/**
 * The network between nodes. The last tier connects all nodes. Its `oversubscription` is the port bandwidth of the
 * nodes divided by the bandwidth through the last tier.
 */
export interface Fabric {
  readonly name: string;
  readonly kind: "fat-tree" | "rail-optimised" | "dragonfly" | "torus";
  readonly tiers: readonly FabricTier[];
  readonly source: string;
}

/** A non-blocking network of any size. It is the default if the network is unknown. */
export const nonBlockingFabric: Fabric = {
  name: "non-blocking",
  kind: "fat-tree",
  tiers: [],
  source: "an assumption: every node reaches every other at the rate of its ports",
};

/**
 * Oversubscription of traffic between `nodeCount` adjacent nodes: the product of the oversubscriptions of all tiers
 * that the traffic crosses.
 */
export function oversubscriptionAcross(fabric: Fabric, nodeCount: number): number {
  let factor = 1;
  for (const tier of fabric.tiers) {
    if (nodeCount <= tier.nodeCount) return factor;
    factor *= tier.oversubscription;
  }
  return factor;
}
