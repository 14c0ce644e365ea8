import { impossible, type FabricAnswer, type FabricLevel, type FabricRequest } from "./fabric-request.ts";

/**
 * Fat trees (Clos networks) of two and three tiers, and their rail-optimised form. In the rail-optimised form, port r
 * of every node of a scalable unit is connected to the same leaf. With switches of k ports, two non-blocking tiers have
 * k²/2 node ports and three tiers k³/4 (Al-Fares, SIGCOMM 2008). Every switch has the same number of links to each
 * switch above it, as in NVIDIA's SuperPOD designs. For example, NVIDIA's 4 units of DGX B300 over 144-port switches
 * use 18 spines, although 16 would have enough ports.
 */
export function closCounts(request: FabricRequest): FabricAnswer {
  const leaf = splitPorts(request.switchPorts, request.leafOversubscription);
  const groups = leafGroups(request, leaf.down);
  if (groups === undefined) {
    return impossible(
      `a node has ${request.portsPerNode} ports, a leaf only ${leaf.down} downwards`,
      `planes of at most ${leaf.down} ports per node`,
    );
  }
  if (groups.leafCount === 1) return singleSwitch(request);
  const spinesAlone = evenSpread(groups.leafCount, leaf.up, request.switchPorts);
  if (spinesAlone !== undefined) return twoTiers(request, groups, leaf, spinesAlone);
  return threeTiers(request, groups, leaf);
}

interface PortSplit {
  readonly down: number;
  readonly up: number;
}

/**
 * The largest number of ports downwards for which enough ports upwards remain to keep the requested oversubscription.
 */
function splitPorts(ports: number, oversubscription: number): PortSplit {
  let down = Math.max(1, Math.floor((ports * oversubscription) / (1 + oversubscription)));
  while (down > 1 && down + Math.ceil(down / oversubscription) > ports) down -= 1;
  return { down, up: Math.ceil(down / oversubscription) };
}

/**
 * Groups of leaves whose leaves serve the same nodes. A group is one leaf in a plain fat tree, and one leaf for each
 * rail in a rail-optimised tree.
 */
interface LeafGroups {
  readonly nodesPerGroup: number;
  readonly leavesPerGroup: number;
  readonly leafCount: number;
}

function leafGroups(request: FabricRequest, leafDown: number): LeafGroups | undefined {
  const { kind, nodeCount, portsPerNode, switchPorts } = request;
  if (kind === "rail-optimised") {
    const groupCount = Math.ceil(nodeCount / leafDown);
    return { nodesPerGroup: leafDown, leavesPerGroup: portsPerNode, leafCount: groupCount * portsPerNode };
  }
  if (nodeCount * portsPerNode <= switchPorts) return { nodesPerGroup: nodeCount, leavesPerGroup: 1, leafCount: 1 };
  const nodesPerGroup = Math.floor(leafDown / portsPerNode);
  if (nodesPerGroup === 0) return undefined;
  return { nodesPerGroup, leavesPerGroup: 1, leafCount: Math.ceil(nodeCount / nodesPerGroup) };
}

/**
 * The smallest number of switches in the level above that spreads links evenly. Each of `belowCount` switches has `up`
 * links upwards, the same number to each switch above, and no switch above needs more than `ports` ports. `undefined`
 * if there is no such number: even one link to each switch above is too many.
 */
function evenSpread(belowCount: number, up: number, ports: number): number | undefined {
  for (let above = Math.max(1, Math.ceil((belowCount * up) / ports)); above <= up; above += 1) {
    if (up % above === 0 && belowCount * (up / above) <= ports) return above;
  }
  return undefined;
}

function singleSwitch(request: FabricRequest): FabricAnswer {
  const cables = request.nodeCount * request.portsPerNode * request.planes;
  return counted(request, [{ name: "leaf", switchCount: request.planes, cablesDown: cables }], {
    nodesBelow: [request.nodeCount],
    oversubscription: [],
    nodeCountMax: Math.floor(request.switchPorts / request.portsPerNode),
  });
}

function twoTiers(request: FabricRequest, groups: LeafGroups, leaf: PortSplit, spineCount: number): FabricAnswer {
  const { planes, switchPorts } = request;
  // If each leaf has one link to each spine, a spine of k ports connects k leaves.
  const groupCountMax = Math.floor(switchPorts / groups.leavesPerGroup);
  return counted(
    request,
    [
      leafLevel(request, groups),
      { name: "spine", switchCount: spineCount * planes, cablesDown: groups.leafCount * leaf.up * planes },
    ],
    {
      nodesBelow: [groups.nodesPerGroup, request.nodeCount],
      oversubscription: [leaf.down / leaf.up],
      nodeCountMax: groupCountMax * groups.nodesPerGroup,
    },
  );
}

/**
 * Three tiers. The lower two form pods of leaves and spines. All pods are equal, and groups of leaves are divided among
 * them as evenly as possible. In the third tier, the core, spine j of every pod is connected to the same core switches.
 */
function threeTiers(request: FabricRequest, groups: LeafGroups, leaf: PortSplit): FabricAnswer {
  const { switchPorts, planes, nodeCount } = request;
  const spine = splitPorts(switchPorts, request.spineOversubscription);
  const groupsPerPodMax = Math.floor(spine.down / groups.leavesPerGroup);
  const groupCount = groups.leafCount / groups.leavesPerGroup;
  const nodeCountMax = switchPorts * groupsPerPodMax * groups.nodesPerGroup;
  if (groupsPerPodMax === 0 || nodeCount > nodeCountMax) {
    return impossible(
      `${nodeCount} nodes of ${request.portsPerNode} ports are more than three tiers of ${switchPorts}-port switches join`,
      nodeCountMax > 0 ? `${nodeCountMax} nodes, or switches of more ports, or more planes` : "switches of more ports",
    );
  }
  const podCount = Math.ceil(groupCount / groupsPerPodMax);
  const leavesPerPod = Math.ceil(groupCount / podCount) * groups.leavesPerGroup;
  const spinesPerPod = evenSpread(leavesPerPod, leaf.up, spine.down) ?? leaf.up;
  const coresPerSpine = evenSpread(podCount, spine.up, switchPorts) ?? spine.up;
  const spineCount = podCount * spinesPerPod;
  return counted(
    request,
    [
      leafLevel(request, groups),
      { name: "spine", switchCount: spineCount * planes, cablesDown: groups.leafCount * leaf.up * planes },
      { name: "core", switchCount: spinesPerPod * coresPerSpine * planes, cablesDown: spineCount * spine.up * planes },
    ],
    {
      nodesBelow: [groups.nodesPerGroup, (leavesPerPod / groups.leavesPerGroup) * groups.nodesPerGroup, nodeCount],
      // The spines of a pod that is not full have more links upwards than the traffic of its leaves can use.
      oversubscription: [leaf.down / leaf.up, Math.max(1, (leavesPerPod * leaf.up) / (spinesPerPod * spine.up))],
      nodeCountMax,
    },
  );
}

function leafLevel(request: FabricRequest, groups: LeafGroups): FabricLevel {
  const { planes, nodeCount, portsPerNode } = request;
  return { name: "leaf", switchCount: groups.leafCount * planes, cablesDown: nodeCount * portsPerNode * planes };
}

interface Shape {
  readonly nodesBelow: readonly number[];
  readonly oversubscription: readonly number[];
  readonly nodeCountMax: number;
  /**
   * Number of links between two halves of the nodes. Absent if it is half of the node ports divided by the
   * oversubscriptions of the levels.
   */
  readonly bisectionLinks?: number;
}

/** Totals over the levels, and the bandwidth between two halves of the nodes. */
export function counted(request: FabricRequest, levels: readonly FabricLevel[], shape: Shape): FabricAnswer {
  const narrowing = shape.oversubscription.reduce((product, ratio) => product * ratio, 1);
  const { bisectionLinks, ...rest } = shape;
  const links = bisectionLinks ?? (request.nodeCount * request.portsPerNode) / 2 / narrowing;
  return {
    kind: "counts",
    request,
    levels,
    switchCount: levels.reduce((sum, level) => sum + level.switchCount, 0),
    cableCount: levels.reduce((sum, level) => sum + level.cablesDown, 0),
    ...rest,
    bisectionGbPerS: (links * request.planes * request.portGbps) / 8,
  };
}
