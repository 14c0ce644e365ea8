import type { Fabric, FabricTier } from "../catalogue/fabric.ts";
import { closCounts } from "./clos.ts";
import { dragonflyCounts } from "./dragonfly.ts";
import { faultOf, type FabricAnswer, type FabricCounts, type FabricRequest } from "./fabric-request.ts";

/** A request with the usual defaults: 64-port switches, one port for each accelerator, non-blocking, one plane. */
export function fabricRequest(given: Partial<FabricRequest> & Pick<FabricRequest, "nodeCount">): FabricRequest {
  return {
    kind: "rail-optimised",
    portsPerNode: 8,
    switchPorts: 64,
    portGbps: 400,
    leafOversubscription: 1,
    spineOversubscription: 1,
    planes: 1,
    ...given,
  };
}

/** Numbers of switches and cables of a network of any size, or the reason why it cannot be built. */
export function fabricCounts(request: FabricRequest): FabricAnswer {
  const fault = faultOf(request);
  if (fault !== undefined) return fault;
  return request.kind === "dragonfly" ? dragonflyCounts(request) : closCounts(request);
}

/** The counted network in the form that collectives need: the oversubscription between groups of nodes. */
export function fabricOf(counts: FabricCounts): Fabric {
  const { request, nodesBelow, oversubscription, levels } = counts;
  const tiers: FabricTier[] = oversubscription.map((ratio, index) => ({
    name: levels[index]?.name ?? "leaf",
    nodeCount: nodesBelow[index] ?? request.nodeCount,
    oversubscription: ratio,
  }));
  return { name: `${request.kind} of ${request.nodeCount} nodes`, kind: request.kind, tiers, source: "counted" };
}
