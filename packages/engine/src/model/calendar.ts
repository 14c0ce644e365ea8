/**
 * What is planned for certain times: nodes that are away, capacity that is kept for somebody. Declared like teams and pools,
 * under names that are unique among all entries. Instants in ms since the epoch.
 */
import type { NodeId, PoolName, SiteName, TeamName } from "./ids.ts";
import type { ScheduleTimes } from "./schedule.ts";

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
  /** Why, for people; absent: nobody said. */
  readonly reason?: string;
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
/** What power costs, or how clean it is, at certain times; where several hold, the one that began last counts. */
export interface Tariff extends EntryCommon {
  readonly kind: "tariff";
  /** Only there; absent: at every site that has no tariff of its own. */
  readonly site?: SiteName;
  readonly when: TariffTimes;
  /** Micro-dollars for a kilowatt-hour, below 0 where whoever takes it is paid; a series says it step by step. */
  readonly microUsdPerKwh?: number;
  /** Grams of carbon dioxide in a kilowatt-hour. */
  readonly gramsPerKwh?: number;
}

export type TariffTimes =
  | { readonly kind: "once"; readonly startMs: number; readonly endMs: number }
  /** A forecast: one figure after another, each for `stepMs`, and then it leaves the calendar. It counts before other tariffs. */
  | {
      readonly kind: "series";
      readonly startMs: number;
      readonly stepMs: number;
      readonly microUsdPerKwh?: readonly number[];
      readonly gramsPerKwh?: readonly number[];
    }
  /** It begins whenever the times are due, and holds for so long. */
  | { readonly kind: "recurring"; readonly times: ScheduleTimes; readonly durationMs: number };

/** When a tariff leaves the calendar; `Infinity`: it comes back again and again. */
export function tariffEndMs(when: TariffTimes): number {
  if (when.kind === "recurring") return Number.POSITIVE_INFINITY;
  if (when.kind === "once") return when.endMs;
  const { startMs, stepMs, microUsdPerKwh = [], gramsPerKwh = [] } = when;
  return startMs + stepMs * Math.max(microUsdPerKwh.length, gramsPerKwh.length);
}

export type CalendarEntry = TimeWindow | Tariff;

/** What of the calendar takes a node from the work that runs there; a notice by its node, `reason` in the words of whoever gave it. */
export type ClosedBy =
  | { readonly kind: "maintenance"; readonly name: string; readonly reason?: string }
  | { readonly kind: "reservation"; readonly name: string }
  | { readonly kind: "notice"; readonly nodeId: NodeId; readonly reason?: string };

/** An entry with what became of it. */
export interface CalendarItem {
  readonly entry: CalendarEntry;
  /** The nodes chosen for a reservation by amount; absent: the entry itself says which. */
  readonly nodes?: readonly NodeId[];
  /** Its time has come; absent: it has not. */
  readonly begun?: true;
}
