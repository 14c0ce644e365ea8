/** CostAmounts of money, shares and CSV on the page Cost. */
import type { Costs } from "@headroom/protocol";
import { grouped } from "@headroom/views";
import { csvCell } from "../../format/csv-cell.ts";

const MICRO = 1_000_000;
const DAY_MS = 24 * 3_600_000;

export type CostLine = Costs["items"][number];
type CostAmounts = Costs["total"];

/** Dollars; cents only below a thousand, where they matter. */
export function dollarText(microUsd: number): string {
  const usd = microUsd / MICRO;
  return Math.abs(usd) >= 1_000 ? `$${grouped(Math.round(usd))}` : `$${usd.toFixed(2)}`;
}

export const lostMicroUsd = ({ failedMicroUsd, evictedMicroUsd, lostMicroUsd: lost }: CostAmounts): number =>
  failedMicroUsd + evictedMicroUsd + lost;

/** Cost of an accelerator-hour of useful work, with everything that was paid beside it. */
export const usefulHourText = ({ microUsd, usedHours }: CostAmounts): string =>
  usedHours > 0 ? `$${(microUsd / MICRO / usedHours).toFixed(2)}` : "–";

export const shareText = (part: number, whole: number): string =>
  whole > 0 ? `${Math.round((100 * part) / whole)}%` : "–";

/** Name of a group; what nobody held has none. */
export const groupText = ({ group }: Pick<CostLine, "group">): string => group[0] || "nobody";

/** The sums of the groups over all periods, the most expensive first. */
export function groupSums(items: readonly CostLine[]): readonly CostLine[] {
  const sums = new Map<string, CostLine>();
  for (const line of items) {
    const name = groupText(line);
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? line : added(sum, line));
  }
  return [...sums.values()].toSorted((left, right) => right.microUsd - left.microUsd);
}

const added = (left: CostLine, right: CostLine): CostLine => ({
  periodStartMs: left.periodStartMs,
  group: left.group,
  microUsd: left.microUsd + right.microUsd,
  usedMicroUsd: left.usedMicroUsd + right.usedMicroUsd,
  idleMicroUsd: left.idleMicroUsd + right.idleMicroUsd,
  failedMicroUsd: left.failedMicroUsd + right.failedMicroUsd,
  evictedMicroUsd: left.evictedMicroUsd + right.evictedMicroUsd,
  lostMicroUsd: left.lostMicroUsd + right.lostMicroUsd,
  acceleratorHours: left.acceleratorHours + right.acceleratorHours,
  usedHours: left.usedHours + right.usedHours,
  kwh: left.kwh + right.kwh,
  measuredKwh: left.measuredKwh + right.measuredKwh,
  energyMicroUsd: left.energyMicroUsd + right.energyMicroUsd,
  carbonKg: left.carbonKg + right.carbonKg,
});

export interface DailyCosts {
  readonly atMs: readonly number[];
  /** Dollars of each day, by group; the smaller groups are one. */
  readonly series: readonly { readonly name: string; readonly usd: readonly number[] }[];
}

/** Dollars by day of the most expensive groups, from the first day with costs on. */
export function dailyCosts(items: readonly CostLine[], shown: number): DailyCosts {
  const days = items.map(({ periodStartMs }) => periodStartMs);
  if (days.length === 0) return { atMs: [], series: [] };
  const [first, last] = [Math.min(...days), Math.max(...days)];
  const atMs = Array.from({ length: Math.round((last - first) / DAY_MS) + 1 }, (_, index) => first + index * DAY_MS);
  const names = groupSums(items).map(groupText);
  const own = names.length > shown ? names.slice(0, shown - 1) : names;
  const columns = new Map(own.map((name) => [name, atMs.map(() => 0)]));
  const others = atMs.map(() => 0);
  for (const line of items) {
    const day = Math.round((line.periodStartMs - first) / DAY_MS);
    const column = columns.get(groupText(line)) ?? others;
    column[day] = (column[day] ?? 0) + line.microUsd / MICRO;
  }
  const series = [...columns].map(([name, usd]) => ({ name, usd }));
  return { atMs, series: own.length < names.length ? [...series, { name: "others", usd: others }] : series };
}

type MeteredLine = Costs["metered"][number];

/** Storage and tokens over all days and subjects, by team, place and whether a price covers them; the most expensive first. */
export function meteredSums(metered: readonly MeteredLine[]): readonly MeteredLine[] {
  const sums = new Map<string, MeteredLine>();
  for (const line of metered) {
    const key = JSON.stringify([line.service, line.team, line.place, line.price]);
    const sum = sums.get(key);
    sums.set(
      key,
      sum === undefined
        ? line
        : {
            ...sum,
            quantity: sum.quantity + line.quantity,
            requestCount: sum.requestCount + line.requestCount,
            microUsd: sum.microUsd + line.microUsd,
            chargedMicroUsd: sum.chargedMicroUsd + line.chargedMicroUsd,
          },
    );
  }
  return [...sums.values()].toSorted((left, right) => right.microUsd - left.microUsd || right.quantity - left.quantity);
}

export function amountText({ service, quantity }: Pick<MeteredLine, "service" | "quantity">): string {
  if (service === "tokens") return `${grouped(quantity)} tokens`;
  return `${quantity.toFixed(1)} ${service === "storage" ? "GiB-hours" : "GiB"}`;
}

/** One line for each day and group. */
export function costCsv({ items, group }: Costs): string {
  const header = [
    "period",
    ...group,
    "usd",
    "used_usd",
    "idle_usd",
    "failed_usd",
    "evicted_usd",
    "lost_usd",
    "accelerator_hours",
    "used_hours",
    "kwh",
    "kwh_measured",
    "energy_usd",
    "carbon_kg",
  ];
  const rows = items.map((line) => [
    new Date(line.periodStartMs).toISOString().slice(0, 10),
    ...line.group.map(csvCell),
    ...[
      line.microUsd,
      line.usedMicroUsd,
      line.idleMicroUsd,
      line.failedMicroUsd,
      line.evictedMicroUsd,
      line.lostMicroUsd,
    ].map((amount) => String(amount / MICRO)),
    ...[
      line.acceleratorHours,
      line.usedHours,
      line.kwh,
      line.measuredKwh,
      line.energyMicroUsd / MICRO,
      line.carbonKg,
    ].map(String),
  ]);
  return [header, ...rows].map((row) => `${row.join(",")}\n`).join("");
}
