/** A request for a network between nodes. All switches are equal. */
export interface FabricRequest {
  readonly kind: "fat-tree" | "rail-optimised" | "dragonfly";
  readonly nodeCount: number;
  /**
   * Number of a node's ports on the compute network in each plane. In a rail-optimised fabric it is one port for each
   * rail.
   */
  readonly portsPerNode: number;
  /** Number of ports of one switch (its radix), at the speed of the links to the nodes. */
  readonly switchPorts: number;
  /** Speed of one port, Gbit/s in each direction. */
  readonly portGbps: number;
  /**
   * Bandwidth from below divided by the bandwidth upwards, at the leaves and, with three tiers, at the spines. For a
   * dragonfly, the first figure is the number of node ports divided by the number of global links.
   */
  readonly leafOversubscription: number;
  readonly spineOversubscription: number;
  /** Number of separate parallel fabrics, each with `portsPerNode` ports on every node (dual-plane designs have 2). */
  readonly planes: number;
}

/** One level of switches, with the cables below it. */
export interface FabricLevel {
  readonly name: "leaf" | "spine" | "core" | "group";
  readonly switchCount: number;
  readonly cablesDown: number;
}

/** Parts to buy, over all planes. */
export interface FabricCounts {
  readonly kind: "counts";
  readonly request: FabricRequest;
  readonly levels: readonly FabricLevel[];
  readonly switchCount: number;
  /**
   * Number of node cables and of cables between switches. Each link counts once, but one physical cable can carry two
   * links.
   */
  readonly cableCount: number;
  /**
   * For each level, the number of nodes that can exchange traffic without crossing a higher level. The order is that of
   * `levels`.
   */
  readonly nodesBelow: readonly number[];
  /**
   * Oversubscription upwards from each level except the highest, as built. It does not exceed the requested
   * oversubscription, except in dragonflies. There, global links that cannot be divided evenly over the pairs of groups
   * stay unused.
   */
  readonly oversubscription: readonly number[];
  /** Maximum number of nodes of a fabric with the same shape and number of tiers. */
  readonly nodeCountMax: number;
  /** Bandwidth between two halves of the nodes for evenly spread traffic, GB/s in each direction. */
  readonly bisectionGbPerS: number;
}

/** The reason why a request cannot be built, and the nearest request that can be built. */
export interface FabricImpossible {
  readonly kind: "impossible";
  readonly reason: string;
  readonly nearest: string;
}

export type FabricAnswer = FabricCounts | FabricImpossible;

export function impossible(reason: string, nearest: string): FabricImpossible {
  return { kind: "impossible", reason, nearest };
}

/** The first problem with the numbers of a request, or `undefined` if there is none. */
export function faultOf(request: FabricRequest): FabricImpossible | undefined {
  const counts = [
    ["node", request.nodeCount],
    ["port per node", request.portsPerNode],
    ["plane", request.planes],
  ] as const;
  for (const [what, count] of counts) {
    if (!Number.isSafeInteger(count) || count < 1) {
      return impossible(`${count} is no number of ${what}s`, `at least one ${what}`);
    }
  }
  if (!Number.isSafeInteger(request.switchPorts) || request.switchPorts < 4) {
    return impossible(
      `a switch of ${request.switchPorts} ports cannot lead up and down`,
      "a switch of 4 ports or more",
    );
  }
  if (!(request.portGbps > 0)) return impossible(`${request.portGbps} Gbit/s is no port speed`, "400 Gbit/s");
  for (const ratio of [request.leafOversubscription, request.spineOversubscription]) {
    if (!(ratio >= 1)) return impossible(`an oversubscription of ${ratio} is below 1`, "1, which is non-blocking");
  }
  return undefined;
}
