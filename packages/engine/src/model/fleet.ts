/**
 * The fleet as it is declared and discovered: sites with named fabric levels, pools of like nodes, nodes with their place
 * in the fabric tree. Amounts are safe integers: cores in thousandths, memory in MiB, money in micro-dollars.
 */
import type { DataPlace } from "./data.ts";
import type { NodeId, PoolName, SiteName } from "./ids.ts";
import type { MigDevice } from "./mig.ts";

/** A pool names the executor that runs what is placed on its nodes. Journals from before executors registered name one of each kind. */
export type ExecutorId = string;

/** What an executor can do besides starting and stopping gangs. */
export interface ExecutorCapabilities {
  /** Passes a request for a checkpoint on to the workers. */
  readonly checkpointOnRequest: boolean;
  /** Gives a running gang further workers, and takes some away. */
  readonly resize: boolean;
  /** Starts workers that were lost with a node on other nodes while their gang goes on. */
  readonly replaceWorkers: boolean;
  /** Keeps the output of workers. */
  readonly logs: boolean;
}

export interface ExecutorSpec {
  readonly id: ExecutorId;
  /** The implementation, such as `local`: for people; several executors may be of one kind. */
  readonly kind: string;
  readonly capabilities: ExecutorCapabilities;
}

export interface Site {
  readonly name: SiteName;
  /** Names of the levels of the placement tree below the site, widest first, without the node itself: `["spine", "leaf"]`. */
  readonly fabricLevels: readonly string[];
  /** Which data may be worked on here, and which lie here; a pool may say more. */
  readonly data?: DataPlace;
}

export interface Pool {
  readonly name: PoolName;
  readonly site: SiteName;
  readonly executor: ExecutorId;
  /** The one accelerator type of the pool, `""` where its nodes have none. */
  readonly acceleratorType: string;
  /** The family of the type, by which requests and quotas may name it (`H100` for `H100-SXM-80GB`); absent: the type has none. */
  readonly acceleratorFamily?: string;
  readonly priceMicroUsdPerHour: number;
  /** The device as which its accelerators may be divided by profiles (`mig.ts`); absent: they are not divided. */
  readonly mig?: MigDevice;
  /** Network bandwidth of each node that workers may reserve; absent: none. */
  readonly networkGbps?: number;
  /** MiB of memory of each accelerator; absent: not known, and no worker can ask for some of it. */
  readonly acceleratorMemoryMib?: number;
  /** Labels of all of its nodes; what reports the nodes puts them on. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels of single nodes, by id; they win over those of the pool. */
  readonly nodeLabels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly data?: DataPlace;
  /** So many empty nodes are kept for work that loses some of its own; absent: none. */
  readonly hotSpares?: number;
}

export interface NodeSpec {
  readonly id: NodeId;
  readonly pool: PoolName;
  /** The domain at each level of the site's fabric, widest first; as long as `Site.fabricLevels`. */
  readonly fabric: readonly string[];
  readonly acceleratorCount: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /** What workloads may select by or spread over: failure domains (rack, power feed, zone) and whatever else the site says. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The most workers at once, whatever they ask for; absent: as many as fit. */
  readonly workersMax?: number;
  /** How the node's accelerators hang together: sizes of equal groups, widest first, e.g. `[4, 2]`: two of four, each two of two. */
  readonly acceleratorGroups?: readonly number[];
}

/** What the engine knows of a node. A node that is lost and draining is both: the two do not exclude each other. */
export interface Node extends NodeSpec {
  /** Position in the order of joining; ties between nodes end here. */
  readonly ordinal: number;
  readonly acceleratorType: string;
  /** As its pool says. */
  readonly acceleratorFamily?: string;
  readonly mig?: MigDevice;
  readonly networkGbps?: number;
  readonly acceleratorMemoryMib?: number;
  readonly health: "up" | "lost";
  /** True from `drainNode` to `resumeNode`: nothing new is placed here. */
  readonly draining: boolean;
  readonly joinedAtMs: number;
  /** It is kept for work that loses nodes: nothing else is placed here. Absent: it is a node like any other. */
  readonly hotSpare?: true;
  /** Its pool has another accelerator type: nothing new is placed here until the node is empty and takes the type over. */
  readonly acceleratorsChanged?: true;
}

/** Whether one of these names, of types or families, covers the accelerators; no names cover every type. */
export const isOfTypes = (
  names: readonly string[],
  { acceleratorType, acceleratorFamily }: Pick<Pool, "acceleratorType" | "acceleratorFamily">,
): boolean =>
  names.length === 0 ||
  names.includes(acceleratorType) ||
  (acceleratorFamily !== undefined && names.includes(acceleratorFamily));

/** A node that will be away within this time is not made a spare: it would soon be none. */
export const HOT_SPARE_AHEAD_MS = 3_600_000;

/** Whether work may be placed on the node at all. */
export const takesWork = ({
  health,
  draining,
  acceleratorsChanged,
}: Pick<Node, "health" | "draining" | "acceleratorsChanged">): boolean =>
  health === "up" && !draining && acceleratorsChanged !== true;
