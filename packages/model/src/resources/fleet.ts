/**
 * The declared and discovered fleet: sites with named fabric levels, pools of similar nodes, nodes with their place in
 * the fabric tree. Amounts are safe integers: cores in thousandths, memory in MiB, money in micro-dollars.
 */
import type { BurstRule } from "./burst.ts";
import type { CachedInput } from "./cached-input.ts";
import type { DataPlace } from "./data.ts";
import type { ForeignUse } from "./foreign-use.ts";
import type { NodeId, PoolName, SiteName } from "./ids.ts";
import type { MigDevice } from "./mig.ts";
import type { PoolPower, PowerCap } from "./power.ts";
import type { WorkloadKindName } from "./workload-kind.ts";
import type { NodeQualification, QualificationRule } from "./qualification.ts";

/**
 * Id of the executor that runs work on a pool's nodes. Journals that are older than the registration of executors
 * contain one executor of each kind.
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
  /** Runs workers in a container image that the workload names. Absent: it does not, or an earlier build registered it. */
  readonly images?: boolean;
  /** Gives workers secrets of its cluster that the workload names. Absent: it does not, or an earlier build registered it. */
  readonly secrets?: boolean;
  /** Secrets that work may name there, with `{team}` or `{user}` in a name. Absent: any, or an earlier build registered it. */
  readonly secretRules?: readonly string[];
  /** Brings inputs from declared stores before workers start, or they read stores themselves. Absent: an earlier build registered it. */
  readonly inputs?: boolean;
  /** Uploads artifacts and checkpoints to stores, or leaves them by the choice of the operator. Absent: an earlier build registered it. */
  readonly uploads?: boolean;
  /**
   * Directories in which work may name the ones that it uploads from (`dir`, `checkpoint.dir`): the control plane reads them at the same
   * paths. Absent: any directory, as earlier builds assumed.
   */
  readonly uploadsFrom?: readonly string[];
  /** Runs work with the rights of its submitter, by a rule. Absent: with the rights of the control plane, whoever submitted it. */
  readonly submitters?: boolean;
}

/** An ability that an executor has or has not. */
export type ExecutorAbility = Exclude<keyof ExecutorCapabilities, "uploadsFrom" | "secretRules">;

export interface ExecutorSpec {
  readonly id: ExecutorId;
  /** Name of the implementation, such as `local`, for display. Several executors may have the same kind. */
  readonly kind: string;
  readonly capabilities: ExecutorCapabilities;
}

export interface Site {
  readonly name: SiteName;
  /** Names of the fabric levels below the site, widest first, without the node itself: `["spine", "leaf"]`. */
  readonly fabricLevels: readonly string[];
  /** Data rules that the site admits, and data stored at the site. A pool may state its own. */
  readonly data?: DataPlace;
  /** Caps on power and cooling of its racks, feeds, cooling units and other domains. Absent: none. */
  readonly caps?: readonly PowerCap[];
}

export interface Pool {
  readonly name: PoolName;
  readonly site: SiteName;
  readonly executor: ExecutorId;
  /** The accelerator type of the pool; `""` if its nodes have no accelerators. */
  readonly acceleratorType: string;
  /**
   * The family of the type, such as `H100` for `H100-SXM-80GB`. Requests and quotas may name it instead of the type.
   * Absent: the type has no family.
   */
  readonly acceleratorFamily?: string;
  readonly priceMicroUsdPerHour: number;
  /** MIG device of the pool's accelerators (`mig.ts`). Absent: the accelerators are not divided. */
  readonly mig?: MigDevice;
  /** Network bandwidth of each node that workers may reserve, in Gbps. Absent: it cannot be reserved. */
  readonly networkGbps?: number;
  /** Memory of each accelerator in MiB. Absent: it is unknown, so no worker can request an amount of it. */
  readonly acceleratorMemoryMib?: number;
  /** Labels of all nodes of the pool; executors attach them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels of single nodes, by node id. They override the pool's labels. */
  readonly nodeLabels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly data?: DataPlace;
  /** Number of empty nodes that are reserved for work that loses nodes. Absent: none is reserved. */
  readonly hotSpares?: number;
  /** Rules under which the engine orders nodes for the pool. Absent: it orders none. */
  readonly burst?: BurstRule;
  /** The suite that nodes must pass before they take work. Absent: none. */
  readonly qualification?: QualificationRule;
  /** Kinds of workload that its nodes take. Absent: all. */
  readonly kinds?: readonly WorkloadKindName[];
  /** Power that its nodes draw, which counts against the caps of the site. Absent: unknown. */
  readonly power?: PoolPower;
}

export interface NodeSpec {
  readonly id: NodeId;
  readonly pool: PoolName;
  /**
   * The node's domain at each level of the site's fabric, widest first. There is one for each entry of
   * `Site.fabricLevels`.
   */
  readonly fabric: readonly string[];
  readonly acceleratorCount: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /**
   * Labels that workloads can select, or spread their workers over: failure domains (rack, power feed, zone) and
   * others.
   */
  readonly labels?: Readonly<Record<string, string>>;
  /** Maximum number of workers on the node at a time, whatever their size. Absent: the number is not limited. */
  readonly workersMax?: number;
  /**
   * Sizes of the node's connected groups of accelerators, widest first; all groups of a level have the same size. `[4,
   * 2]`: groups of four, each made of two pairs.
   */
  readonly acceleratorGroups?: readonly number[];
}

/** A removal that waits until the last work has ended. */
export interface PendingRemoval {
  readonly actor: string;
  readonly sinceMs: number;
  /** The node leaves when the provisioner of this order says that the machine is gone. Absent: when it is empty. */
  readonly awaits?: string;
}

/** The engine's knowledge of a node. A node can be lost and draining at the same time. */
export interface Node extends NodeSpec {
  /**
   * Number of nodes that joined the fleet before this one. It breaks ties that no other rule decides. A node that joins
   * again after its removal gets a new ordinal, so that no ordinal occurs twice.
   */
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
  /** True if the node is a hot spare: only work that lost a node is placed on it. Absent: an ordinary node. */
  readonly hotSpare?: true;
  /**
   * True if the pool's accelerator type has changed: no work is placed on the node until it is empty and gets the new
   * type. Absent: the type is up to date.
   */
  readonly acceleratorsChanged?: true;
  /** The node leaves the fleet when its last work has ended. No new work is placed on it. Absent: it stays. */
  readonly removal?: PendingRemoval;
  /**
   * True: no work is placed on the node, because its executor is not reachable, was removed, or is only followed
   * (`executor-state.ts`). Absent: its executor takes work.
   */
  readonly suspended?: true;
  /** Amounts that work uses which Headroom does not run. Absent: none, or the executor does not report it. */
  readonly foreignUse?: ForeignUse;
  /** Inputs in the node's cache, in the order of their keys. Absent: none, or the executor does not report them. */
  readonly cachedInputs?: readonly CachedInput[];
  /** Name of the capacity order that brought the node. Absent: none, or the order is over. */
  readonly capacityOrder?: string;
  /**
   * True: the node waits for the other nodes of its order, so that the gang for which they were ordered starts on them.
   * Absent: it does not.
   */
  readonly arriving?: true;
  /** For a node that the engine ordered: when it joined, its last work ended, or it was lost. Absent: another node. */
  readonly idleSinceMs?: number;
  /** The node takes no new work until it has passed the suite of its pool's rule. Absent: it is proven, or needs no proof. */
  readonly qualification?: NodeQualification;
}

/** Whether the accelerators match one of these names of types or families; an empty list matches every type. */
export const isOfTypes = (
  names: readonly string[],
  { acceleratorType, acceleratorFamily }: Pick<Pool, "acceleratorType" | "acceleratorFamily">,
): boolean =>
  names.length === 0 ||
  names.includes(acceleratorType) ||
  (acceleratorFamily !== undefined && names.includes(acceleratorFamily));

/** A node that is known to leave within this time is not made a hot spare. */
export const HOT_SPARE_AHEAD_MS = 3_600_000;

export const takesWork = ({
  health,
  draining,
  acceleratorsChanged,
  removal,
  suspended,
  arriving,
  qualification,
}: Pick<
  Node,
  "health" | "draining" | "acceleratorsChanged" | "removal" | "suspended" | "arriving" | "qualification"
>): boolean =>
  health === "up" &&
  !draining &&
  acceleratorsChanged !== true &&
  removal === undefined &&
  suspended !== true &&
  arriving !== true &&
  qualification === undefined;
