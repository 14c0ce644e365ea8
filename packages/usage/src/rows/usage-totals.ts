/** Sums of usage rows, exact: a sum over a year of a large fleet exceeds the integers of a double, so sums are big integers. */
import { dayOf, DAY_MS, monthStartMs, nextMonthStartMs } from "@headroom/model";
import { milliMsOf, clipRow, type UsageRow, type UsageState } from "./row.ts";

/** Calendar periods in UTC; weeks begin on Monday. `all`: one period. */
export type UsagePeriod = "hour" | "day" | "week" | "month" | "all";

export const HOUR_MS = 3_600_000;
const DAYS_IN_WEEK = 7;
/** 1 January 1970 was a Thursday. */
const EPOCH_WEEKDAY = 3;

export function periodStartMs(atMs: number, period: UsagePeriod): number {
  switch (period) {
    case "hour":
      return Math.floor(atMs / HOUR_MS) * HOUR_MS;
    case "day":
      return dayOf(atMs) * DAY_MS;
    case "week": {
      const day = dayOf(atMs);
      return (day - ((((day + EPOCH_WEEKDAY) % DAYS_IN_WEEK) + DAYS_IN_WEEK) % DAYS_IN_WEEK)) * DAY_MS;
    }
    case "month":
      return monthStartMs(atMs);
    case "all":
      return 0;
    default:
      return period satisfies never;
  }
}

export function periodEndMs(startMs: number, period: UsagePeriod): number {
  switch (period) {
    case "hour":
      return startMs + HOUR_MS;
    case "day":
      return startMs + DAY_MS;
    case "week":
      return startMs + DAYS_IN_WEEK * DAY_MS;
    case "month":
      return nextMonthStartMs(startMs);
    case "all":
      return Number.MAX_SAFE_INTEGER;
    default:
      return period satisfies never;
  }
}

/** The row cut at the boundaries of the periods. */
export function* cutRow(row: UsageRow, period: UsagePeriod): Generator<UsageRow> {
  for (let startMs = periodStartMs(row.fromMs, period); startMs < row.toMs;) {
    const endMs = periodEndMs(startMs, period);
    const part = clipRow(row, startMs, endMs);
    if (part !== null) yield part;
    startMs = endMs;
  }
}

export interface UsageTotal {
  readonly periodStartMs: number;
  /** The values of the fields by which the rows are grouped. */
  readonly group: readonly string[];
  readonly state: UsageState;
  readonly cause: string;
  /** Thousandths of accelerator-milliseconds. */
  readonly milliMs: bigint;
}

/** Fields of rows by which totals can be grouped. */
export type GroupField =
  | "team"
  | "user"
  | "workload"
  | "workloadId"
  | "workloadKind"
  | "site"
  | "pool"
  | "node"
  | "acceleratorType";

/** Adds up rows as they come. Memory is bounded by the number of groups, not of rows. */
export class UsageTotals {
  readonly #period: UsagePeriod;
  readonly #fields: readonly GroupField[];
  readonly #totals = new Map<string, { total: Omit<UsageTotal, "milliMs">; high: bigint; low: number }>();

  constructor(period: UsagePeriod, fields: readonly GroupField[]) {
    this.#period = period;
    this.#fields = fields;
  }

  add(row: UsageRow): void {
    for (const part of cutRow(row, this.#period)) this.#addPart(part);
  }

  #addPart(row: UsageRow): void {
    const group = this.#fields.map((field) => row[field]);
    const startMs = periodStartMs(row.fromMs, this.#period);
    const key = JSON.stringify([startMs, row.state, row.cause, ...group]);
    let known = this.#totals.get(key);
    if (known === undefined) {
      const { state, cause } = row;
      known = { total: { periodStartMs: startMs, group, state, cause }, high: 0n, low: 0 };
      this.#totals.set(key, known);
    }
    const amount = milliMsOf(row);
    const sum = known.low + amount;
    if (Number.isSafeInteger(sum)) known.low = sum;
    else {
      known.high += BigInt(known.low);
      known.low = amount;
    }
  }

  /** By period, then by group, then by state and cause. */
  totals(): readonly UsageTotal[] {
    return [...this.#totals.values()]
      .map(({ total, high, low }) => ({ ...total, milliMs: high + BigInt(low) }))
      .filter(({ milliMs }) => milliMs !== 0n)
      .toSorted((left, right) => left.periodStartMs - right.periodStartMs || compareTexts(keyOf(left), keyOf(right)));
  }
}

const keyOf = ({ group, state, cause }: UsageTotal): string => [...group, state, cause].join("\u0000");

const compareTexts = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

/** Whether the team is `ancestor` or below it. A removed team counts under its name alone. */
export function isWithin(team: string, ancestor: string, parents: ReadonlyMap<string, string | null>): boolean {
  for (let at: string | null = team, depth = 0; at !== null && depth < TEAM_DEPTH_MAX; depth++) {
    if (at === ancestor) return true;
    at = parents.get(at) ?? null;
  }
  return false;
}

/** A bound for a damaged tree with a cycle. */
const TEAM_DEPTH_MAX = 100;
