/**
 * Usage rows: who held which accelerators, where, from when to when, and what became of that time. Accelerators that
 * nobody held have rows too, so that the rows of a node always add up to the whole node.
 *
 * A row is never rewritten. A row of a closed month is corrected by two further rows: its negative, and the corrected
 * one.
 */

/**
 * `used`: the result was kept, or the work still runs. `idle`: held without computing, or held by nobody. `failed`: lost
 * through the work itself. `evicted`: lost because the scheduler stopped it. `lost`: lost through the fleet.
 */
export type UsageState = (typeof USAGE_STATES)[number];

export const USAGE_STATES = ["used", "idle", "failed", "evicted", "lost"] as const;

export interface UsageRow {
  readonly fromMs: number;
  readonly toMs: number;
  /** Thousandths of accelerators, constant over the row. Negative: the row takes back an earlier one. */
  readonly milli: number;
  readonly state: UsageState;
  /** Why the time has this state: `succeeded`, `nodeLost`, `preempted`, `free`, … */
  readonly cause: string;
  /** `""`: nobody held the accelerators. The same for the next five fields. */
  readonly team: string;
  readonly user: string;
  readonly workloadId: string;
  readonly workload: string;
  readonly workloadKind: string;
  readonly attemptId: string;
  readonly site: string;
  readonly pool: string;
  readonly node: string;
  readonly acceleratorType: string;
  /** The accelerators of the node that were held, such as `0-3,6`. Absent: nobody held them, or they are unknown. */
  readonly accelerators?: string;
  /** When the month of the row had already been closed: the instant of the correction. `null`: no correction. */
  readonly correctedAtMs: number | null;
}

/** Amount of a row in thousandths of an accelerator-millisecond: an exact integer, for rows of one node. */
export const milliMsOf = ({ fromMs, toMs, milli }: Pick<UsageRow, "fromMs" | "toMs" | "milli">): number =>
  milli * (toMs - fromMs);

/** The part of the row between two instants, or `null` if they do not meet. */
export function clipRow(row: UsageRow, fromMs: number, toMs: number): UsageRow | null {
  const from = Math.max(row.fromMs, fromMs);
  const to = Math.min(row.toMs, toMs);
  if (from >= to) return null;
  return from === row.fromMs && to === row.toMs ? row : { ...row, fromMs: from, toMs: to };
}
