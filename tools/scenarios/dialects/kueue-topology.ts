/**
 * Plays Kueue's topology-aware placements with the preset `kueue-topology`, and compares the exact number of pods of
 * each podset by domain.
 */
import { presets } from "@headroom/model";
import type { FabricSpec, Policy } from "@headroom/model";
import type { Scenario } from "../scenario-file.ts";
import { Stage } from "../stage.ts";

interface Node {
  readonly name: string;
  readonly gpus: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly ready?: boolean;
  readonly otherAllocatable?: { readonly pods?: number; readonly memory?: number };
}
interface PodSet {
  readonly name: string;
  readonly pods: number;
  readonly gpusPerPod?: number;
  readonly requests?: { readonly memory?: number; readonly cpu?: number };
  readonly topologyRequest?: {
    readonly required?: string;
    readonly preferred?: string;
    readonly unconstrained?: boolean;
    readonly podSetSliceRequiredTopology?: string;
    readonly podSetSliceSize?: number;
  };
}
interface Expected {
  readonly podset: string;
  readonly fits: boolean;
  readonly levels?: readonly string[];
  readonly placement?: readonly { readonly pods: number; readonly at: Readonly<Record<string, string>> }[];
}
interface TopologyScenario extends Scenario {
  readonly topologies: readonly { readonly levels: readonly string[] }[];
  readonly nodes: readonly Node[];
  readonly pendingJobs: readonly PodSet[];
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly expected: { readonly podsets: readonly Expected[] };
}

/** Thousandths of a core, because requests may contain fractions of a core. */
const CORE = 1000;
const KIB = 1024;

export function playKueueTopology(scenario: Scenario): string[] {
  const world = scenario as TopologyScenario;
  const levels = world.topologies[0]?.levels ?? [];
  // A leaf domain becomes one node, whatever its level is called in the scenario.
  const stage = new Stage(policyFor(world), levels.slice(0, -1));
  const leaves = leavesOf(world.nodes, levels);
  for (const [name, nodes] of leaves) addLeaf(stage, { name, nodes, levels });
  stage.addTeam({ name: "team", parent: null });
  const ids = world.pendingJobs.map((podset) =>
    stage.submit({
      name: podset.name,
      team: "team",
      gang: {
        workers: podset.pods,
        accelerators: 0,
        coresMilli: (podset.gpusPerPod ?? podset.requests?.cpu ?? 0) * CORE,
        memoryMib: Math.ceil((podset.requests?.memory ?? 0) / KIB),
      },
      ...fabricOf(podset, levels.at(-1)),
    }),
  );
  stage.round();
  return world.expected.podsets.flatMap((expected) => {
    const index = world.pendingJobs.findIndex(({ name }) => name === expected.podset);
    const workers = stage.attempt(ids[index] as string)?.workers ?? null;
    const isByHost = expected.levels?.length === 1 && levels.length > 1;
    const nameOf = (node: string): string => (isByHost ? (node.split("/").at(-1) as string) : node);
    const found = workers === null ? null : textOf(Map.groupBy(workers, ({ node }) => nameOf(node)));
    const wanted = expected.fits ? placementText(expected) : null;
    return wanted === found ? [] : [`${expected.podset}: expected ${wanted ?? "no place"}, got ${found ?? "no place"}`];
  });
}

function policyFor({ featureGates = {} }: TopologyScenario): Policy {
  const policy = presets.get("kueue-topology") as Policy;
  return {
    ...policy,
    strategy: featureGates["TASProfileMixed"] === false ? "headroom" : "kueue-topology",
    fabric: featureGates["TASBalancedPlacement"] === true ? "balanced" : "fewest",
  };
}

const pathOf = (values: readonly string[]): string => values.join("/");

/** Ready nodes that have a value for every level, by the path of their leaf; several nodes may have the same leaf. */
function leavesOf(nodes: readonly Node[], levels: readonly string[]): ReadonlyMap<string, readonly Node[]> {
  const counting = nodes.filter(
    ({ ready, labels }) => ready !== false && levels.every((level) => labels[level] !== undefined),
  );
  return Map.groupBy(counting, ({ labels }) => pathOf(levels.map((level) => labels[level] as string)));
}

interface Leaf {
  readonly name: string;
  readonly nodes: readonly Node[];
  readonly levels: readonly string[];
}

function addLeaf(stage: Stage, { name, nodes, levels }: Leaf): void {
  const sum = (amount: (node: Node) => number): number => nodes.reduce((total, node) => total + amount(node), 0);
  const [first] = nodes;
  stage.addNode({
    name,
    coresMilli: sum(({ gpus }) => gpus) * CORE,
    memoryMib: Math.floor(sum(({ otherAllocatable }) => otherAllocatable?.memory ?? 0) / KIB),
    workersMax: sum(({ otherAllocatable }) => otherAllocatable?.pods ?? 0),
    fabric: levels.slice(0, -1).map((level) => first?.labels[level] ?? ""),
  });
}

/** Invalid values stay invalid: a slice without a size gets no workers. */
function fabricOf({ topologyRequest }: PodSet, leafLevel: string | undefined): { readonly fabric?: FabricSpec } {
  const levelOf = (name: string): string => (name === leafLevel ? "node" : name);
  const { required, preferred, podSetSliceRequiredTopology, podSetSliceSize } = topologyRequest ?? {};
  const within = required === undefined ? {} : { within: levelOf(required) };
  const prefer = preferred === undefined ? {} : { prefer: levelOf(preferred) };
  const slices =
    podSetSliceRequiredTopology === undefined
      ? {}
      : { slices: [{ workers: podSetSliceSize ?? 0, within: levelOf(podSetSliceRequiredTopology) }] };
  const fabric = { ...within, ...prefer, ...slices };
  return Object.keys(fabric).length === 0 ? {} : { fabric };
}

function textOf(byNode: ReadonlyMap<string, readonly unknown[]>): string {
  return [...byNode]
    .map(([node, workers]) => `${workers.length} at ${node}`)
    .toSorted()
    .join(", ");
}

/** Expected domains have the name of the last level if that is the host name, or else the names of all levels. */
function placementText({ placement = [], levels: named = [] }: Expected): string {
  return placement
    .map(({ pods, at }) => `${pods} at ${pathOf(named.map((level) => at[level] ?? ""))}`)
    .toSorted()
    .join(", ");
}
