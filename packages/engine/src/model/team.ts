/** A node of the quota tree. Work belongs to exactly one team; its usage counts for all ancestors of the team. */
import type { Budget } from "./budget.ts";
import type { TeamName } from "./ids.ts";

/**
 * Amounts by resource: the name of an accelerator type, or one of `ALL_ACCELERATORS` (all types together), `CORES`
 * (thousandths) and `MEMORY` (MiB). Accelerators have a resolution of a thousandth.
 */
export type Amounts = Readonly<Record<string, number>>;

export const ALL_ACCELERATORS = "accelerators";
export const CORES = "cores";
export const MEMORY = "memory";
export const NETWORK = "networkGbps";

/** All resources that teams can state other than accelerator types. */
export const RESOURCES_BESIDE_TYPES: readonly string[] = [ALL_ACCELERATORS, CORES, MEMORY, NETWORK];

/** Victims that a team's waiting work may preempt, and the conditions. */
export interface TeamPreemption {
  /** Victims in the same team. */
  readonly within: "never" | "lowerPriority";
  /** Victims in teams that hold more than their guarantee. */
  readonly reclaim: "never" | "lowerPriority" | "any";
  /**
   * Victims while the team itself borrows: work of lower priority than its own, at most `priorityMax`; absent: none.
   */
  readonly whileBorrowing?: { readonly priorityMax: number };
}

/** `ReservedTopology.within` for connected accelerators inside a node: its groups, and each accelerator alone. */
export const GROUP_LEVEL = "group";

/** Connected accelerators owned by a team: eight on one node differ from eight anywhere. */
export interface ReservedTopology {
  /** Kind of a cell: a domain of this fabric level, a whole `node`, or a `group` of accelerators inside one. */
  readonly within: string;
  /**
   * Number of accelerators of a cell, all of one type: only domains, nodes or groups of exactly this size are cells.
   */
  readonly accelerators: number;
  readonly count: number;
  /** Accelerator type; absent: any. */
  readonly acceleratorType?: string;
  /** The fabric domains that contain the cells, from the widest level down; absent: anywhere. */
  readonly domain?: readonly string[];
  /** Nodes that contain the cells, or are the cells; absent: any that fit. */
  readonly nodes?: readonly string[];
}

export interface Team {
  readonly name: TeamName;
  readonly parent: TeamName | null;
  /** Limit of the team and everything below it, by resource; no entry: no limit. */
  readonly limit: Amounts;
  /** Limit of any one user's work in the team and everything below it; no entry: the team's limit. */
  readonly userLimit?: Amounts;
  /** Guaranteed amounts, which the team can always reclaim; no entry: no guarantee. */
  readonly guarantee?: Amounts;
  /** Weight against sibling teams for capacity beyond guarantees; absent: 1. 0: none while other teams have demand. */
  readonly weight?: number;
  /** The part of its unused guarantee that other teams may borrow; no entry: all. */
  readonly lendingLimit?: Amounts;
  /** Maximum usage beyond its guarantee; no entry: bounded by its limit only. */
  readonly borrowingLimit?: Amounts;
  /** Priority among siblings: larger is served first, also with capacity beyond guarantees; absent: 0. */
  readonly priority?: number;
  readonly preemption?: TeamPreemption;
  readonly budget?: Budget;
  readonly reservedTopology?: readonly ReservedTopology[];
}
