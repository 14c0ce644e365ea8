/** Decisions that a review asks for, each with the figure behind it. The next review says which were taken. */
import type { Review, ReviewedPlan } from "./review.ts";
import { dayText, type Quarter } from "./quarter.ts";

export type Decision = { readonly text: string } & (
  | { readonly kind: "order"; readonly pool: string | null; readonly count: number; readonly orderBy: string }
  | { readonly kind: "extend"; readonly axis: string; readonly orderBy: string }
  | { readonly kind: "plan" | "failures" | "idle" | "waiting" }
);

/** Shares of the cost above which the cause deserves a decision. */
const FAILURES_LARGE = 0.05;
const IDLE_LARGE = 0.25;
/** Share of the held accelerator-hours above which waiting does. */
const WAITING_LARGE = 0.1;

interface Ahead {
  /** The quarter after the reviewed one. */
  readonly quarter: Quarter;
  readonly orders: ReviewedPlan["orders"];
}

export function decisionsOf(review: Omit<Review, "decisions">, ahead: Ahead): readonly Decision[] {
  return [
    ...orderDecisions(ahead),
    ...axisDecisions(review, ahead),
    ...planDecisions(review),
    ...costDecisions(review),
  ];
}

/** Orders that are due in the next quarter. Those of the reviewed one stand beside the orders of the journal. */
function orderDecisions({ quarter, orders }: Ahead): readonly Decision[] {
  const end = dayText(quarter.toMs);
  const begin = dayText(quarter.fromMs);
  return orders.flatMap(({ orderBy, name, pool, count }): Decision[] => {
    if (orderBy >= end || orderBy < begin) return [];
    return [{ kind: "order", pool, count, orderBy, text: `Order ${count} × ${name} by ${orderBy}.` }];
  });
}

function axisDecisions({ ceilings }: Omit<Review, "decisions">, { quarter }: Ahead): readonly Decision[] {
  const end = dayText(quarter.toMs).slice(0, 7);
  return (ceilings.axes ?? []).flatMap(({ axis, orderBy, bindsP95, probability }): Decision[] => {
    if (orderBy === null || bindsP95 === null || orderBy >= end) return [];
    const risk = `it can run out in ${bindsP95}, within the horizon with a probability of ${Math.round(100 * probability)}%`;
    return [{ kind: "extend", axis, orderBy, text: `Extend ${axis} (order by ${orderBy}): ${risk}.` }];
  });
}

function planDecisions({ months, quarter }: Omit<Review, "decisions">): readonly Decision[] {
  const outside = months.filter(
    ({ demand, forecast }) =>
      demand !== null && forecast !== null && (demand < forecast.lo80 || demand > forecast.hi80),
  );
  const above = months.filter(({ demand, plan }) => demand !== null && plan !== null && demand > plan.atRisk);
  const texts = [
    ...(above.length > 0 ? [`demand was above the planned risk in ${above.map(({ month }) => month).join(", ")}`] : []),
    ...(outside.length > 0
      ? [`demand left the forecast's interval in ${outside.map(({ month }) => month).join(", ")}`]
      : []),
    ...(months.every(({ plan }) => plan === null) ? [`no stored plan covers ${quarter}`] : []),
  ];
  return texts.map((text) => ({ kind: "plan", text: `Revise the plan: ${text}.` }));
}

function costDecisions({ cost, failures, waiting, months }: Omit<Review, "decisions">): readonly Decision[] {
  const decisions: Decision[] = [];
  const share = (usd: number): number => (cost.usd > 0 ? usd / cost.usd : 0);
  const percent = (part: number): string => `${Math.round(100 * part)}% of the cost`;
  const [cause] = failures.byCause;
  if (share(cost.failuresUsd) > FAILURES_LARGE)
    decisions.push({
      kind: "failures",
      text: `Reduce failed, evicted and lost work: ${percent(share(cost.failuresUsd))}, most of it ${cause?.cause ?? "unknown"}.`,
    });
  if (share(cost.idleUsd) > IDLE_LARGE)
    decisions.push({ kind: "idle", text: `Reduce idle capacity: ${percent(share(cost.idleUsd))}.` });
  const held = months.reduce((sum, month) => sum + (month.held ?? 0), 0);
  const waited = months.reduce((sum, month) => sum + (month.waiting ?? 0), 0);
  if (held > 0 && waited / held > WAITING_LARGE)
    decisions.push({
      kind: "waiting",
      text: `Add capacity or shift work: on average ${Math.round((100 * waited) / held)}% of what ran was waiting besides${waiting.usd === null ? "" : ` ($${Math.round(waiting.usd)})`}.`,
    });
  return decisions;
}
