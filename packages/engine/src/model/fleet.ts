/**
 * The declared and discovered fleet: sites with named fabric levels, pools of similar nodes, nodes with their place in
 * the fabric tree. Amounts are safe integers: cores in thousandths, memory in MiB, money in micro-dollars.
 */
import type { DataPlace } from "./data.ts";
import type { NodeId, PoolName, SiteName } from "./ids.ts";
import type { MigDevice } from "./mig.ts";

/**
 * Id of the executor that runs work on a pool's nodes. Journals from before executors registered contain one of each
 * kind.
 */
export type ExecutorId = string;

/** Optional abilities of an executor, besides starting and stopping gangs. */
export interface ExecutorCapabilities {
  /** Forwards checkpoint requests to the workers. */
  readonly checkpointOnRequest: boolean;
  /** Adds workers to a running gang and removes some. */
  readonly resize: boolean;
  /** Starts workers that were lost with a node on other nodes while their gang continues. */
  readonly replaceWorkers: boolean;
  readonly logs: boolean;
}

export interface ExecutorSpec {
  readonly id: ExecutorId;
  /** Name of the implementation, such as `local`, for display; several executors may be of one kind. */
  readonly kind: string;
  readonly capabilities: ExecutorCapabilities;
}

export interface Site {
  readonly name: SiteName;
  /** Names of the fabric levels below the site, widest first, without the node itself: `["spine", "leaf"]`. */
  readonly fabricLevels: readonly string[];
  /** Data rules that the site admits, and data stored there; a pool may state its own. */
  readonly data?: DataPlace;
}

export interface Pool {
  readonly name: PoolName;
  readonly site: SiteName;
  readonly executor: ExecutorId;
  /** The accelerator type of the pool; `""`: its nodes have none. */
  readonly acceleratorType: string;
  /** The family of the type, by which requests and quotas may name it (`H100` for `H100-SXM-80GB`); absent: the type has none. */
  readonly acceleratorFamily?: string;
  readonly priceMicroUsdPerHour: number;
  /** MIG device of its accelerators (`mig.ts`); absent: they are not divided. */
  readonly mig?: MigDevice;
  /** Network bandwidth of each node that workers may reserve; absent: none. */
  readonly networkGbps?: number;
  /** MiB of memory of each accelerator; absent: unknown, so no worker can request a part of it. */
  readonly acceleratorMemoryMib?: number;
  /** Labels of all its nodes; executors attach them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels of single nodes by id; they override the pool's labels. */
  readonly nodeLabels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly data?: DataPlace;
  /** Number of empty nodes that are kept for work that loses nodes; absent: none. */
  readonly hotSpares?: number;
}

export interface NodeSpec {
  readonly id: NodeId;
  readonly pool: PoolName;
  /** The node's domain at each level of the site's fabric, widest first; as long as `Site.fabricLevels`. */
  readonly fabric: readonly string[];
  readonly acceleratorCount: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /** Labels that workloads can select or spread over: failure domains (rack, power feed, zone) and others. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Maximum number of workers at a time, whatever their size; absent: as many as fit. */
  readonly workersMax?: number;
  /**
   * Connected groups of the node's accelerators: sizes of equal groups, widest first. `[4, 2]`: groups of four, each
   * made of two pairs.
   */
  readonly acceleratorGroups?: readonly number[];
}

/** The engine's knowledge of a node. A node can be lost and draining at the same time. */
export interface Node extends NodeSpec {
  /** Position in the order in which nodes joined; the last tie-breaker. */
  readonly ordinal: number;
  readonly acceleratorType: string;
  readonly acceleratorFamily?: string;
  readonly mig?: MigDevice;
  readonly networkGbps?: number;
  readonly acceleratorMemoryMib?: number;
  readonly health: "up" | "lost";
  /** True from `drainNode` to `resumeNode`: no new work is placed on the node. */
  readonly draining: boolean;
  readonly joinedAtMs: number;
  /** The node is a hot spare: only work that lost a node is placed on it. Absent: an ordinary node. */
  readonly hotSpare?: true;
  /**
   * The pool's accelerator type has changed. Nothing new is placed on the node until it is empty and gets the new type.
   */
  readonly acceleratorsChanged?: true;
}

/** Whether the accelerators match one of these names of types or families; an empty list matches every type. */
export const isOfTypes = (
  names: readonly string[],
  { acceleratorType, acceleratorFamily }: Pick<Pool, "acceleratorType" | "acceleratorFamily">,
): boolean =>
  names.length === 0 ||
  names.includes(acceleratorType) ||
  (acceleratorFamily !== undefined && names.includes(acceleratorFamily));

/** A node that will leave within this time is not made a hot spare. */
export const HOT_SPARE_AHEAD_MS = 3_600_000;

export const takesWork = ({
  health,
  draining,
  acceleratorsChanged,
}: Pick<Node, "health" | "draining" | "acceleratorsChanged">): boolean =>
  health === "up" && !draining && acceleratorsChanged !== true;
