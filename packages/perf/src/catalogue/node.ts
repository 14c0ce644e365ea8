import type { Accelerator } from "./accelerator.ts";
import type { Fabric } from "./fabric.ts";

/** A server: accelerators, the interconnect between them, and the network ports. */
export interface NodeShape {
  readonly name: string;
  readonly accelerator: Accelerator;
  readonly acceleratorCount: number;
  /** Total bandwidth of the compute network's cards in one node, GB/s in each direction. */
  readonly scaleOutGbPerS: number;
  /** Host memory bandwidth to one accelerator (PCIe or C2C), GB/s per direction. */
  readonly hostLinkGbPerS: number;
  readonly hostMemoryGib?: number;
  readonly source: string;
}

/** Identical nodes on one fabric for a training job or an endpoint. */
export interface Cluster {
  readonly node: NodeShape;
  readonly nodeCount: number;
  readonly fabric: Fabric;
}

/** Network bandwidth per accelerator, GB/s per direction. */
export function scaleOutPerAcceleratorGbPerS(node: NodeShape): number {
  return node.scaleOutGbPerS / node.acceleratorCount;
}
