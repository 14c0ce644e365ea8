/**
 * What is planned for certain times: nodes that are away, capacity that is kept for somebody. Declared like teams and pools,
 * under names that are unique among all entries. Instants in ms since the epoch.
 */
import type { NodeId, PoolName, TeamName } from "./ids.ts";

interface EntryCommon {
  readonly name: string;
}

interface WindowCommon extends EntryCommon {
  readonly startMs: number;
  readonly endMs: number;
}

/** Nothing runs on these nodes in this time: what might is not placed there, what still does is stopped so that it ends before. */
export interface MaintenanceWindow extends WindowCommon {
  readonly kind: "maintenance";
  /** All nodes of the pool, those that join later too; absent: `nodes` says which. */
  readonly pool?: PoolName;
  readonly nodes?: readonly NodeId[];
}

/** Nodes that are kept for a team and all below it, or for users, in this time. Others' work there ends before it begins. */
export interface AdvanceReservation extends WindowCommon {
  readonly kind: "reservation";
  readonly team?: TeamName;
  /** Who submitted the work, whatever its team. */
  readonly users?: readonly string[];
  readonly nodes?: readonly NodeId[];
  /** Whole nodes with at least this many accelerators in sum, chosen when it is recorded; absent: `nodes` says which. */
  readonly accelerators?: number;
  /** Of which type those nodes are; absent: any. */
  readonly acceleratorType?: string;
}

export type TimeWindow = MaintenanceWindow | AdvanceReservation;
export type CalendarEntry = TimeWindow;

/** An entry with what became of it. */
export interface CalendarItem {
  readonly entry: CalendarEntry;
  /** The nodes chosen for a reservation by amount; absent: the entry itself says which. */
  readonly nodes?: readonly NodeId[];
  /** Its time has come; absent: it has not. */
  readonly begun?: true;
}
