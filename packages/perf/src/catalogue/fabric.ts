/** One tier of a tree-like fabric, from the nodes upwards. */
export interface FabricTier {
  readonly name: string;
  /**
   * Number of nodes below one switch (or group of switches) of this tier; traffic among them does not cross the next
   * tier.
   */
  readonly nodeCount: number;
  /** Bandwidth of the nodes below divided by the bandwidth upwards: 1 is non-blocking. */
  readonly oversubscription: number;
}

/**
 * The network between nodes. The last tier connects all nodes; its `oversubscription` is the nodes' port bandwidth
 * divided by the bandwidth through it.
 */
export interface Fabric {
  readonly name: string;
  readonly kind: "fat-tree" | "rail-optimised" | "dragonfly" | "torus";
  readonly tiers: readonly FabricTier[];
  readonly source: string;
}

/** A non-blocking network of any size: the default for an unknown network. */
export const nonBlockingFabric: Fabric = {
  name: "non-blocking",
  kind: "fat-tree",
  tiers: [],
  source: "an assumption: every node reaches every other at the rate of its ports",
};

/** Oversubscription between `nodeCount` adjacent nodes: the product over the tiers that their traffic crosses. */
export function oversubscriptionAcross(fabric: Fabric, nodeCount: number): number {
  let factor = 1;
  for (const tier of fabric.tiers) {
    if (nodeCount <= tier.nodeCount) return factor;
    factor *= tier.oversubscription;
  }
  return factor;
}
