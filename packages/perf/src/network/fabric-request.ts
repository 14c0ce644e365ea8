/** A network between nodes, as one would order it. All switches are alike. */
export interface FabricRequest {
  readonly kind: "fat-tree" | "rail-optimised" | "dragonfly";
  readonly nodeCount: number;
  /** Ports of the compute network per node and plane: one per rail in a rail-optimised fabric. */
  readonly portsPerNode: number;
  /** Ports of one switch (its radix), at the speed of the links below. */
  readonly switchPorts: number;
  /** Speed of one port, Gbit/s per direction. */
  readonly portGbps: number;
  /**
   * Bandwidth from below divided by bandwidth upwards: at the leaves and, in three tiers, at the spines. For a dragonfly
   * the first figure is that of node ports to global links.
   */
  readonly leafOversubscription: number;
  readonly spineOversubscription: number;
  /** Separate fabrics side by side, each with `portsPerNode` ports on every node (dual-plane designs have 2). */
  readonly planes: number;
}

/** One level of switches, with the cables that leave it downwards. */
export interface FabricLevel {
  readonly name: "leaf" | "spine" | "core" | "group";
  readonly switchCount: number;
  readonly cablesDown: number;
}

/** What has to be bought, over all planes. */
export interface FabricCounts {
  readonly kind: "counts";
  readonly request: FabricRequest;
  readonly levels: readonly FabricLevel[];
  readonly switchCount: number;
  /** Node cables and cables between switches, each counted once; two of them may share one physical cable. */
  readonly cableCount: number;
  /** Nodes whose traffic with each other crosses no level above that of the same index in `levels`. */
  readonly nodesBelow: readonly number[];
  /**
   * Narrowing of the way up from each level but the highest, as built. Never more than was asked for, but for dragonflies,
   * in which what is left of the global links after an equal number for every pair of groups stays unused.
   */
  readonly oversubscription: readonly number[];
  /** Nodes that a fabric of the same shape and as many tiers can reach at most. */
  readonly nodeCountMax: number;
  /** Bandwidth between two halves of the nodes, GB/s per direction, if traffic spreads evenly. */
  readonly bisectionGbPerS: number;
}

/** A request that cannot be built, with the nearest one that can. */
export interface FabricImpossible {
  readonly kind: "impossible";
  readonly reason: string;
  readonly nearest: string;
}

export type FabricAnswer = FabricCounts | FabricImpossible;

export function impossible(reason: string, nearest: string): FabricImpossible {
  return { kind: "impossible", reason, nearest };
}

/** The first thing that is wrong with the numbers themselves. */
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
