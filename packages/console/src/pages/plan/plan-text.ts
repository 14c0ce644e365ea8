/** Months, days and money of a plan as text. Days of a plan have no time zone, so they are read as UTC. */
import type { SolvedPlan } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";

const DAY_MS = 86_400_000;
const monthFormat = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric", timeZone: "UTC" });
const dayFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

export const monthStartMs = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);
/** `Jul 2026`. */
export const monthText = (month: string): string => monthFormat.format(monthStartMs(month));
export const monthAtText = (atMs: number): string => monthFormat.format(atMs);
/** `26 Feb 2026`. */
export const dateText = (day: string): string => dayFormat.format(Date.parse(`${day}T00:00:00Z`));

/** `in 51 days`, `today` or `3 days overdue`. */
export function dueText(day: string, nowMs: number): string {
  const days = Math.round((Date.parse(`${day}T00:00:00Z`) - nowMs) / DAY_MS + 0.5);
  if (days === 0) return "today";
  return days > 0 ? `in ${plural(days, "day")}` : `${plural(-days, "day")} overdue`;
}

/** Whether the whole month has passed. */
export function isPast(month: string, nowMs: number): boolean {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return Date.UTC(year, number, 1) <= nowMs;
}

export function usdText(usd: number): string {
  return `${usd < 0 ? "−" : ""}$${grouped(Math.abs(Math.round(usd)))}`;
}

/** `+$735,780`, `−$1,200` or `$0`. */
export const differenceText = (usd: number): string => (usd > 0 ? `+${usdText(usd)}` : usdText(usd));

/** Number with a thousands separator and at most one decimal. */
export const amountText = (value: number): string =>
  value >= 100 || Number.isInteger(value) ? grouped(Math.round(value)) : String(Math.round(10 * value) / 10);

export function shareText(share: number): string {
  if (share > 0 && share < 0.01) return "under 1%";
  return share > 0.99 && share < 1 ? "over 99%" : `${Math.round(100 * share)}%`;
}

/** The amount and name of an order: `72 × b200`, or `1 step of hall-b`. */
export function orderText({ kind, count, name }: SolvedPlan["orders"][number]): string {
  return kind === "expansion" ? `${plural(count, "step")} of ${name}` : `${grouped(count)} × ${name}`;
}

/** Cost of the first month if the order comes a month late. */
export function lateText({ monthLateUsd: usd, monthLateShortage: short }: SolvedPlan["orders"][number]): string {
  if (short === null) return "not known";
  const shortage = short > 0 ? `${plural(Math.ceil(short), "accelerator")} short` : "";
  if (usd === null) return shortage === "" ? "demand unmet" : shortage;
  if (usd <= 0) return shortage === "" ? "nothing" : shortage;
  return shortage === "" ? usdText(usd) : `${usdText(usd)}, ${shortage}`;
}

/** The plan's answer to the axis that runs out first: the first order for its pool, or the month by which it must be extended. */
export function firstRemedyText(
  {
    first,
    axes,
    pools,
    orders,
  }: Pick<SolvedPlan, "first" | "axes" | "orders"> & {
    readonly pools: readonly { readonly pool: string }[];
  },
  nowMs: number,
): string {
  const axis = axes.find((each) => each.axis === first?.axis);
  if (axis === undefined) return "";
  const ofAxis = (pool: string): boolean =>
    axis.axis === `accelerators of ${pool}` || (axis.axis === "accelerators" && pools.length === 1);
  const pool = pools.find((each) => ofAxis(each.pool))?.pool;
  if (pool === undefined) {
    if (axis.orderBy === null) return "";
    return `An extension must be ordered by ${monthText(axis.orderBy)}${isPast(axis.orderBy, nowMs) ? ", which is past" : ""}.`;
  }
  const [order] = orders
    .filter((each) => each.pool === pool)
    .toSorted((left, right) => (left.orderBy < right.orderBy ? -1 : 1));
  if (order === undefined) return "The plan orders none: on-demand and spot capacity serve what is above it.";
  return `For it, order ${orderText(order)} by ${dateText(order.orderBy)}; on-demand and spot capacity serve the rest.`;
}
