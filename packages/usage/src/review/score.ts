/** How the last review fared: its forecast against this quarter, and its decisions against the orders of the journal. */
import type { Decision } from "./decisions.ts";
import type { RecordedOrder } from "./quarter-facts.ts";
import { dayText } from "./quarter.ts";
import type { Interval, Review, ReviewMonth } from "./review.ts";

export interface ReviewScore {
  readonly quarter: string;
  readonly forecast: readonly (Interval & { readonly demand: number; readonly isInside: boolean })[];
  /** Mean error of the forecast relative to demand, in percent; `null`: no month can be compared. */
  readonly errorPct: number | null;
  readonly decisions: readonly { readonly text: string; readonly outcome: "done" | "open" | "not measured" }[];
}

interface Outcome {
  readonly months: readonly ReviewMonth[];
  readonly orders: readonly RecordedOrder[];
}

export function scoreOf({ quarter, next, decisions }: Review, { months, orders }: Outcome): ReviewScore {
  const forecast = (next ?? []).flatMap((each) => {
    const demand = months.find(({ month }) => month === each.month)?.demand ?? null;
    if (demand === null) return [];
    return [{ ...each, demand, isInside: demand >= each.lo80 && demand <= each.hi80 }];
  });
  const errors = forecast.flatMap(({ mean, demand }) => (demand > 0 ? [Math.abs(mean - demand) / demand] : []));
  const error = errors.reduce((sum, each) => sum + each, 0) / Math.max(1, errors.length);
  return {
    quarter,
    forecast,
    errorPct: errors.length === 0 ? null : Math.round(1_000 * error) / 10,
    decisions: decisions.map((decision) => ({ text: decision.text, outcome: outcomeOf(decision, orders) })),
  };
}

/** An order counts as placed if the journal has orders of its pool and size that were placed by its day. */
function outcomeOf(decision: Decision, orders: readonly RecordedOrder[]): "done" | "open" | "not measured" {
  if (decision.kind !== "order" || decision.pool === null) return "not measured";
  const { pool, count, orderBy } = decision;
  const isDone = orders.some(
    (order) =>
      order.pool === pool &&
      order.accelerators >= count &&
      order.orderedAtMs !== null &&
      !order.isCancelled &&
      dayText(order.orderedAtMs) <= orderBy,
  );
  return isDone ? "done" : "open";
}
