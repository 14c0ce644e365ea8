import type { Accelerator } from "./accelerator.ts";
import { nonBlockingFabric, type Fabric } from "./fabric.ts";
import { mlNetwork } from "./sources.ts";
import type { Cluster, NodeShape } from "./node.ts";

/** Bandwidth between host and accelerator in GB/s for each direction: PCIe 4, PCIe 5 and the link of Grace hosts. */
const pcie4 = 31;
const pcie5 = 63;
const graceLink = 450;

function hostLinkOf(accelerator: Accelerator): number {
  if (/^GB\d/.test(accelerator.name)) return graceLink;
  return accelerator.year >= 2022 ? pcie5 : pcie4;
}

/**
 * Number of accelerators of one node: 4 in the trays of rack-scale systems and in TPU hosts, 16 for Trainium2,
 * otherwise 8.
 */
function perNodeOf(accelerator: Accelerator): number {
  if (/^GB\d/.test(accelerator.name)) return 4;
  if (accelerator.scaleUp.kind === "torus") return 4;
  return accelerator.name === "Trainium2" ? 16 : 8;
}

/** The usual server of an accelerator. */
export function usualNode(accelerator: Accelerator): NodeShape {
  const acceleratorCount = perNodeOf(accelerator);
  return {
    name: `${acceleratorCount}x ${accelerator.name}`,
    accelerator,
    acceleratorCount,
    scaleOutGbPerS: accelerator.scaleOutGbPerS * acceleratorCount,
    hostLinkGbPerS: hostLinkOf(accelerator),
    source: `${accelerator.sources.scaleOut ?? ""}; host links: ${mlNetwork}`,
  };
}

/**
 * A cluster of usual servers with this number of accelerators. The network is non-blocking unless a fabric is given.
 */
export function usualCluster(accelerator: Accelerator, count: number, fabric: Fabric = nonBlockingFabric): Cluster {
  const node = usualNode(accelerator);
  const fitted = count < node.acceleratorCount ? { ...node, acceleratorCount: Math.max(1, count) } : node;
  const scaled = { ...fitted, scaleOutGbPerS: accelerator.scaleOutGbPerS * fitted.acceleratorCount };
  return { node: scaled, nodeCount: Math.ceil(count / scaled.acceleratorCount), fabric };
}
