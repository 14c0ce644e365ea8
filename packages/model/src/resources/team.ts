/**
 * A node of the quota tree. Work belongs to exactly one team, and its usage counts for this team and all teams above
 * it.
 */
import type { Budget } from "./budget.ts";
import type { TeamName } from "./ids.ts";

/**
 * Amounts by resource. A resource is the name of an accelerator type, `ALL_ACCELERATORS` (all types together), `CORES`
 * (thousandths) or `MEMORY` (MiB). Accelerators have a resolution of a thousandth.
 */
export type Amounts = Readonly<Record<string, number>>;

export const ALL_ACCELERATORS = "accelerators";
export const CORES = "cores";
export const MEMORY = "memory";
export const NETWORK = "networkGbps";

/** All resources that teams can state other than accelerator types. */
export const RESOURCES_BESIDE_TYPES: readonly string[] = [ALL_ACCELERATORS, CORES, MEMORY, NETWORK];

/** Work that a team's waiting work may preempt, and the conditions. */
export interface TeamPreemption {
  /** Condition for victims in the same team. */
  readonly within: "never" | "lowerPriority";
  /** Condition for victims in teams that hold more than their guarantee. */
  readonly reclaim: "never" | "lowerPriority" | "any";
  /**
   * While the team itself borrows, its work may evict work of lower priority, if the victim's priority is at most
   * `priorityMax`. Absent: it may evict no work while the team borrows.
   */
  readonly whileBorrowing?: { readonly priorityMax: number };
}

/**
 * The value of `ReservedTopology.within` for connected accelerators inside a node: the groups of the node, or single
 * accelerators.
 */
export const GROUP_LEVEL = "group";

/** Connected accelerators that a team owns. Eight accelerators on one node differ from eight on any nodes. */
export interface ReservedTopology {
  /**
   * Level at which a cell is one unit: a domain of this fabric level, a whole `node`, or a `group` of accelerators
   * inside a node.
   */
  readonly within: string;
  /**
   * Number of accelerators in a cell, all of one type. Only domains, nodes or groups of exactly this size are cells.
   */
  readonly accelerators: number;
  readonly count: number;
  /** Accelerator type of the cells. Absent: any type. */
  readonly acceleratorType?: string;
  /**
   * The fabric domains that contain the cells, as a path from the widest level down. Absent: the cells may be anywhere.
   */
  readonly domain?: readonly string[];
  /** Nodes that contain the cells, or that are the cells. Absent: any nodes that fit. */
  readonly nodes?: readonly string[];
}

export interface Team {
  readonly name: TeamName;
  readonly parent: TeamName | null;
  /** The most that the team and all teams below it may hold, by resource. A resource without an entry has no limit. */
  readonly limit: Amounts;
  /**
   * The most that any one user may hold in the team and all teams below it, by resource. A resource without an entry is
   * bounded by the team's limit only.
   */
  readonly userLimit?: Amounts;
  /**
   * Guaranteed amounts by resource, which the team can always reclaim. A resource without an entry has no guarantee.
   */
  readonly guarantee?: Amounts;
  /**
   * Weight against sibling teams for capacity beyond guarantees; 1 if absent. A team with weight 0 gets no such
   * capacity while other teams have demand.
   */
  readonly weight?: number;
  /**
   * The part of the team's unused guarantee that other teams may borrow, by resource. A resource without an entry can
   * be borrowed completely.
   */
  readonly lendingLimit?: Amounts;
  /**
   * Maximum usage beyond the team's guarantee, by resource. A resource without an entry is bounded by the team's limit
   * only.
   */
  readonly borrowingLimit?: Amounts;
  /**
   * Priority among sibling teams, 0 if absent. Teams with a larger priority are served first, also with capacity beyond
   * guarantees.
   */
  readonly priority?: number;
  readonly preemption?: TeamPreemption;
  readonly budget?: Budget;
  readonly reservedTopology?: readonly ReservedTopology[];
}
