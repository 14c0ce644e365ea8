/** A node of the quota tree. Work belongs to exactly one team; what a team uses counts for all of its ancestors. */
import type { Budget } from "./budget.ts";
import type { TeamName } from "./ids.ts";

/**
 * Amounts by resource: an accelerator type's name, or one of `ALL_ACCELERATORS` (every type together), `CORES` (thousandths)
 * and `MEMORY` (MiB). Accelerators may be given to the thousandth.
 */
export type Amounts = Readonly<Record<string, number>>;

export const ALL_ACCELERATORS = "accelerators";
export const CORES = "cores";
export const MEMORY = "memory";
export const NETWORK = "networkGbps";

/** Every resource that teams state and that is no accelerator type. */
export const RESOURCES_BESIDE_TYPES: readonly string[] = [ALL_ACCELERATORS, CORES, MEMORY, NETWORK];

/** Victims that a team's waiting work may preempt, and the conditions. */
export interface TeamPreemption {
  /** In the same team. */
  readonly within: "never" | "lowerPriority";
  /** In teams that hold more than their guarantee. */
  readonly reclaim: "never" | "lowerPriority" | "any";
  /** While it borrows itself: work of lower priority than its own, at most `priorityMax`; absent: never. */
  readonly whileBorrowing?: { readonly priorityMax: number };
}

/** `ReservedTopology.within` for connected accelerators inside a node: its groups, and each accelerator alone. */
export const GROUP_LEVEL = "group";

/** Accelerators that hang together, owned by a team: eight on one node are not eight anywhere. */
export interface ReservedTopology {
  /** The kind of a cell: a domain of this fabric level, a whole `node`, or a `group` of accelerators inside one. */
  readonly within: string;
  /** How many accelerators one cell has, all of one type: a domain, node or group with more or fewer is no such cell. */
  readonly accelerators: number;
  readonly count: number;
  /** Their type; absent: any. */
  readonly acceleratorType?: string;
  /** The fabric domains that contain the cells, from the widest level down; absent: anywhere. */
  readonly domain?: readonly string[];
  /** Nodes that contain the cells, or are the cells; absent: any that fit. */
  readonly nodes?: readonly string[];
}

export interface Team {
  readonly name: TeamName;
  readonly parent: TeamName | null;
  /** The most that the team and everything below it may hold at once, by resource; no entry: no limit. */
  readonly limit: Amounts;
  /** The most that the work of any one user of it may hold at once, of the team and everything below it; no entry: as the team may. */
  readonly userLimit?: Amounts;
  /** Guaranteed amounts, which the team gets back whenever it asks; no entry: nothing is guaranteed. */
  readonly guarantee?: Amounts;
  /**
   * Its weight against its siblings for capacity that no guarantee covers; absent: 1. 0: nothing while others have
   * demand.
   */
  readonly weight?: number;
  /** How much of its guarantee the others may use while it does not; no entry: all of it. */
  readonly lendingLimit?: Amounts;
  /** How much beyond its guarantee it may use; no entry: no bound but its limit. */
  readonly borrowingLimit?: Amounts;
  /** Priority among its siblings: larger is served first, also with unguaranteed capacity; absent: 0. */
  readonly priority?: number;
  readonly preemption?: TeamPreemption;
  /** Its budget over time; absent: none. */
  readonly budget?: Budget;
  readonly reservedTopology?: readonly ReservedTopology[];
}
