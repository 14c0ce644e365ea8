/**
 * Calendar entries: maintenance windows, reservations and tariffs. They are declared like teams and pools, and no two
 * entries have the same name. Instants are in ms since the epoch.
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
 * No work runs on these nodes in this period. Work that might still be running when it begins is not placed there, and
 * running work is stopped early enough.
 */
export interface MaintenanceWindow extends WindowCommon {
  readonly kind: "maintenance";
  /** The window applies to all nodes of the pool, including nodes added later. Absent: `nodes` lists the nodes. */
  readonly pool?: PoolName;
  readonly nodes?: readonly NodeId[];
  /** The reason, for people to read. Absent: none was stated. */
  readonly reason?: string;
}

/**
 * Nodes that are reserved for a team and all teams below it, or for users, in this period. Work of other teams or users
 * on these nodes ends before the period begins.
 */
export interface AdvanceReservation extends WindowCommon {
  readonly kind: "reservation";
  readonly team?: TeamName;
  /** Users for whose submissions the nodes are reserved, in any team. */
  readonly users?: readonly string[];
  readonly nodes?: readonly NodeId[];
  /**
   * Minimum total number of accelerators on the reserved nodes, which are chosen when the reservation is recorded.
   * Absent: `nodes` lists the nodes.
   */
  readonly accelerators?: number;
  /** Accelerator type of the chosen nodes. Absent: any type. */
  readonly acceleratorType?: string;
}

export type TimeWindow = MaintenanceWindow | AdvanceReservation;
/**
 * Price or carbon intensity of power in certain periods. If several tariffs apply at an instant, the one that began
 * last is used.
 */
export interface Tariff extends EntryCommon {
  readonly kind: "tariff";
  /** Site of the tariff. Absent: the tariff applies to all sites without a tariff of their own. */
  readonly site?: SiteName;
  readonly when: TariffTimes;
  /**
   * Price of a kilowatt-hour in micro-dollars; negative if consumers are paid. A series has one value for each step.
   */
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

/** Time at which a tariff is removed from the calendar; `Infinity` if it recurs without end. */
export function tariffEndMs(when: TariffTimes): number {
  if (when.kind === "recurring") return Number.POSITIVE_INFINITY;
  if (when.kind === "once") return when.endMs;
  const { startMs, stepMs, microUsdPerKwh = [], gramsPerKwh = [] } = when;
  return startMs + stepMs * Math.max(microUsdPerKwh.length, gramsPerKwh.length);
}

export type CalendarEntry = TimeWindow | Tariff;

/**
 * The calendar entry or notice because of which running work must leave a node. If it is a notice, the node and the
 * stated reason are included.
 */
export type ClosedBy =
  | { readonly kind: "maintenance"; readonly name: string; readonly reason?: string }
  | { readonly kind: "reservation"; readonly name: string }
  | { readonly kind: "notice"; readonly nodeId: NodeId; readonly reason?: string };

/** A calendar entry and its state. */
export interface CalendarItem {
  readonly entry: CalendarEntry;
  /** The nodes chosen for a reservation of a number of accelerators. Absent: the entry itself lists its nodes. */
  readonly nodes?: readonly NodeId[];
  /** True if the entry's period has begun, otherwise absent. */
  readonly begun?: true;
}
