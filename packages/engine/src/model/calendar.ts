/**
 * Calendar entries: maintenance windows, reservations and tariffs. Declared like teams and pools; names are unique
 * among all entries. Instants in ms since the epoch.
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

/**
 * No work runs on these nodes in this period: work that might still run then is not placed there, and running work is
 * stopped early enough.
 */
export interface MaintenanceWindow extends WindowCommon {
  readonly kind: "maintenance";
  /** All nodes of the pool, later ones included; absent: `nodes` lists them. */
  readonly pool?: PoolName;
  readonly nodes?: readonly NodeId[];
  /** The reason, for people; absent: none was stated. */
  readonly reason?: string;
}

/**
 * Nodes that are reserved for a team and all teams below it, or for users, in this period. Work of others there ends
 * before it begins.
 */
export interface AdvanceReservation extends WindowCommon {
  readonly kind: "reservation";
  readonly team?: TeamName;
  /** Users for whose submissions the nodes are reserved, in any team. */
  readonly users?: readonly string[];
  readonly nodes?: readonly NodeId[];
  /**
   * Minimum total number of accelerators on the reserved nodes, which are chosen when the reservation is recorded;
   * absent: `nodes` lists them.
   */
  readonly accelerators?: number;
  /** Accelerator type of the chosen nodes; absent: any. */
  readonly acceleratorType?: string;
}

export type TimeWindow = MaintenanceWindow | AdvanceReservation;
/** Price or carbon intensity of power in certain periods. If several tariffs apply, the one that began last counts. */
export interface Tariff extends EntryCommon {
  readonly kind: "tariff";
  /** Site of the tariff; absent: all sites without a tariff of their own. */
  readonly site?: SiteName;
  readonly when: TariffTimes;
  /** Micro-dollars for a kilowatt-hour, negative if consumers are paid; a series has one value per step. */
  readonly microUsdPerKwh?: number;
  readonly gramsPerKwh?: number;
}

export type TariffTimes =
  | { readonly kind: "once"; readonly startMs: number; readonly endMs: number }
  /**
   * A forecast with one value for each `stepMs`. It takes precedence over other tariffs and is removed after its last
   * value.
   */
  | {
      readonly kind: "series";
      readonly startMs: number;
      readonly stepMs: number;
      readonly microUsdPerKwh?: readonly number[];
      readonly gramsPerKwh?: readonly number[];
    }
  /** A recurring tariff: it begins at each of `times` and lasts `durationMs`. */
  | { readonly kind: "recurring"; readonly times: ScheduleTimes; readonly durationMs: number };

/** Time at which a tariff is removed from the calendar; `Infinity`: it recurs without end. */
export function tariffEndMs(when: TariffTimes): number {
  if (when.kind === "recurring") return Number.POSITIVE_INFINITY;
  if (when.kind === "once") return when.endMs;
  const { startMs, stepMs, microUsdPerKwh = [], gramsPerKwh = [] } = when;
  return startMs + stepMs * Math.max(microUsdPerKwh.length, gramsPerKwh.length);
}

export type CalendarEntry = TimeWindow | Tariff;

/**
 * The calendar entry or notice because of which running work must leave a node. A notice also has the node and the
 * stated reason.
 */
export type ClosedBy =
  | { readonly kind: "maintenance"; readonly name: string; readonly reason?: string }
  | { readonly kind: "reservation"; readonly name: string }
  | { readonly kind: "notice"; readonly nodeId: NodeId; readonly reason?: string };

/** An entry and its state. */
export interface CalendarItem {
  readonly entry: CalendarEntry;
  /** The nodes chosen for a reservation by amount; absent: the entry itself lists them. */
  readonly nodes?: readonly NodeId[];
  /** True: the entry's period has begun. Absent: it has not. */
  readonly begun?: true;
}
