import { counted } from "./clos.ts";
import { impossible, type FabricAnswer, type FabricRequest } from "./fabric-request.ts";

/**
 * A dragonfly (Kim, Dally, Scott, Abts, ISCA 2008). A group has `a` switches, each connected to every other. Each
 * switch has p node ports, a − 1 local links and h global links, and every pair of groups gets an equal number of
 * global links. A balanced dragonfly has a = 2p = 2h, needs switches with 4p − 1 ports and has 4p⁴ + 2p² node ports.
 * With an oversubscription of r, a switch has p/r global links.
 */
export function dragonflyCounts(request: FabricRequest): FabricAnswer {
  const { switchPorts, leafOversubscription, nodeCount, portsPerNode, planes } = request;
  const shape = switchShape(switchPorts, leafOversubscription);
  if (shape === undefined) {
    return impossible(`a dragonfly switch of ${switchPorts} ports has none left for other groups`, "7 ports or more");
  }
  const { nodePorts, perGroup, globalPorts } = shape;
  const portsPerGroup = nodePorts * perGroup;
  const groupCountMax = perGroup * globalPorts + 1;
  const nodeCountMax = Math.floor((portsPerGroup * groupCountMax) / portsPerNode);
  const groupCount = Math.ceil((nodeCount * portsPerNode) / portsPerGroup);
  if (groupCount > groupCountMax) {
    return impossible(
      `${nodeCount} nodes of ${portsPerNode} ports are more than a dragonfly of ${switchPorts}-port switches joins`,
      `${nodeCountMax} nodes, or switches of more ports, or more planes`,
    );
  }
  const linksPerPair = groupCount === 1 ? 0 : Math.floor((perGroup * globalPorts) / (groupCount - 1));
  const localCables = (groupCount * perGroup * (perGroup - 1)) / 2;
  const globalCables = ((groupCount * (groupCount - 1)) / 2) * linksPerPair;
  const switchCount = groupCount * perGroup * planes;
  const globalPerGroup = linksPerPair * (groupCount - 1);
  return counted(
    request,
    [
      { name: "leaf", switchCount, cablesDown: nodeCount * portsPerNode * planes },
      { name: "group", switchCount: 0, cablesDown: (localCables + globalCables) * planes },
    ],
    {
      nodesBelow: [Math.floor(portsPerGroup / portsPerNode), nodeCount],
      // Almost all uniform traffic leaves its group and passes over one global link.
      oversubscription: groupCount === 1 ? [] : [Math.max(1, portsPerGroup / globalPerGroup)],
      nodeCountMax,
      bisectionLinks:
        groupCount === 1 ? (nodeCount * portsPerNode) / 2 : Math.floor(groupCount ** 2 / 4) * linksPerPair,
    },
  );
}

interface SwitchShape {
  readonly nodePorts: number;
  readonly perGroup: number;
  readonly globalPorts: number;
}

/** The largest number of node ports p of a switch for which p + (2p − 1) + ⌈p/r⌉ ports suffice. */
function switchShape(ports: number, oversubscription: number): SwitchShape | undefined {
  for (let nodePorts = Math.floor((ports + 1) / 3); nodePorts >= 1; nodePorts -= 1) {
    const globalPorts = Math.ceil(nodePorts / oversubscription);
    if (3 * nodePorts - 1 + globalPorts <= ports) return { nodePorts, perGroup: 2 * nodePorts, globalPorts };
  }
  return undefined;
}
