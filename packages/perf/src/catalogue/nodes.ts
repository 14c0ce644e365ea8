import type { Accelerator } from "./accelerator.ts";
import { nonBlockingFabric, type Fabric } from "./fabric.ts";
import { mlNetwork } from "./sources.ts";
import type { Cluster, NodeShape } from "./node.ts";

/** Host links by PCIe generation, GB/s per direction; servers of the named years use them. */
const pcie4 = 31;
const pcie5 = 63;
const graceLink = 450;

function hostLinkOf(accelerator: Accelerator): number {
  if (/^GB\d/.test(accelerator.name)) return graceLink;
  return accelerator.year >= 2022 ? pcie5 : pcie4;
}

/** Number of accelerators of one node: four in a tray of a rack-scale domain, else up to eight. */
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

/** Usual servers with this number of accelerators, on a non-blocking network unless a fabric is given. */
export function usualCluster(accelerator: Accelerator, count: number, fabric: Fabric = nonBlockingFabric): Cluster {
  const node = usualNode(accelerator);
  const fitted = count < node.acceleratorCount ? { ...node, acceleratorCount: Math.max(1, count) } : node;
  const scaled = { ...fitted, scaleOutGbPerS: accelerator.scaleOutGbPerS * fitted.acceleratorCount };
  return { node: scaled, nodeCount: Math.ceil(count / scaled.acceleratorCount), fabric };
}
