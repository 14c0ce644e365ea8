/** The sections of a review as titles, sentences and tables, for the terminal and the page alike. */
import type { Review } from "@headroom/usage";
import { shortDuration } from "../output/amounts.ts";

export interface ReviewSection {
  readonly title: string;
  readonly lines: readonly string[];
  readonly table?: { readonly titles: readonly string[]; readonly rows: readonly (readonly string[])[] };
}

export function reviewSections(review: Review): readonly ReviewSection[] {
  return [
    demandSection(review),
    ordersSection(review),
    ceilingsSection(review),
    costSection(review),
    failuresSection(review),
    assumptionsSection(review),
    lastSection(review),
    { title: "Decisions to take", lines: review.decisions.map(({ text }) => text) },
    { title: "Not known", lines: review.missing },
  ].filter(({ lines, table }: ReviewSection) => lines.length > 0 || (table?.rows.length ?? 0) > 0);
}

export function reviewTitle({ quarter, through, isWhole }: Review): string {
  return `Review of ${quarter}${isWhole ? "" : ` (through ${through})`}`;
}

const amount = (value: number | null | undefined): string => (value == null ? "–" : String(value));
export const usdText = (usd: number | null): string => (usd === null ? "–" : `$${usd.toFixed(2)}`);
const interval = (each: { readonly mean: number; readonly lo80: number; readonly hi80: number } | null): string =>
  each === null ? "–" : `${each.mean} (${each.lo80} to ${each.hi80})`;

function demandSection({ months, next }: Review): ReviewSection {
  return {
    title: "Demand against forecast, plan against outcome",
    lines: [
      "Accelerators, means of the month. Demand is held and waiting together; forecasts have their 80% interval.",
      ...(next ?? []).map((each) => `forecast of ${each.month}: ${interval(each)}`),
    ],
    table: {
      titles: ["MONTH", "DEMAND", "HELD", "WAITING", "FORECAST", "PLANNED", "AT RISK", "IN SERVICE", "PLANNED"],
      rows: months.map(({ month, demand, held, waiting, forecast, plan, capacity }) => [
        month,
        amount(demand),
        amount(held),
        amount(waiting),
        interval(forecast),
        amount(plan?.p50),
        amount(plan?.atRisk),
        amount(capacity),
        amount(plan?.capacity),
      ]),
    },
  };
}

function ordersSection({ orders: { planned, recorded } }: Review): ReviewSection {
  return {
    title: "Orders",
    lines: [
      ...planned.map(({ orderBy, name, count }) => `planned: ${count} × ${name} by ${orderBy}`),
      ...recorded.map(({ name, pool, accelerators, orderedOn, inServiceOn, lateDays }) => {
        const late = lateDays === null ? "" : `, ${Math.abs(lateDays)} days ${lateDays > 0 ? "late" : "early"}`;
        return `recorded: ${name}, ${accelerators} accelerators for ${pool}, ordered ${orderedOn ?? "not yet"}, in service ${inServiceOn ?? "not yet"}${late}`;
      }),
    ],
  };
}

function ceilingsSection({ ceilings: { busiestDay, axes } }: Review): ReviewSection {
  return {
    title: "Ceilings",
    lines:
      busiestDay === null ? [] : [`Busiest day: ${busiestDay.day}, ${percent(busiestDay.share)} of accelerators held.`],
    table: {
      titles: ["AXIS", "RUNS OUT (MEDIAN)", "1 IN 20", "PROBABILITY", "EXTEND BY"],
      rows: (axes ?? []).map(({ axis, bindsP50, bindsP95, probability, orderBy }) => [
        axis,
        bindsP50 ?? "–",
        bindsP95 ?? "–",
        percent(probability),
        orderBy ?? "–",
      ]),
    },
  };
}

const percent = (share: number): string => `${Math.round(100 * share)}%`;

function costSection(review: Review): ReviewSection {
  const { cost, waiting, months } = review;
  const money = [
    `Total ${usdText(cost.usd)}; ${usdText(cost.perUsefulHourUsd)} per useful accelerator-hour; ${percent(cost.usefulShare)} of the hours useful.`,
    `Idle capacity ${usdText(cost.idleUsd)}; failed, evicted and lost work ${usdText(cost.failuresUsd)}.`,
  ];
  const price = waiting.usd === null ? "" : `, ${usdText(waiting.usd)} at the mean price`;
  const starts =
    waiting.startedCount === 0
      ? "no task started"
      : `${waiting.startedCount} tasks started after ${shortDuration(waiting.meanWaitMs)} on average, 95% within ${shortDuration(waiting.p95WaitMs)}`;
  return {
    title: "Cost",
    lines: [
      ...(cost.usd === 0 ? [] : money),
      `Waiting: ${waiting.acceleratorHours} accelerator-hours${price}; ${starts}.`,
      ...waiting.byTeam
        .slice(0, TEAMS_SHOWN)
        .map((each) => `waiting of ${each.team}: ${each.acceleratorHours} accelerator-hours`),
      ...months.flatMap(({ month, costUsd }) => (costUsd === null ? [] : [`${month}: ${usdText(costUsd)}`])),
    ],
  };
}

const TEAMS_SHOWN = 5;

function failuresSection({ failures: { attemptsByOutcome, nodeLosses, byCause } }: Review): ReviewSection {
  const outcomes = Object.entries(attemptsByOutcome).map(([outcome, count]) => `${count} ${outcome}`);
  return {
    title: "Failures",
    lines: [
      ...(outcomes.length === 0 ? [] : [`Attempts that ended: ${outcomes.join(", ")}.`]),
      ...(nodeLosses.length === 0
        ? []
        : [`Nodes with most losses: ${nodeLosses.map(({ node, count }) => `${node} (${count})`).join(", ")}.`]),
    ],
    table: {
      titles: ["STATE", "CAUSE", "HOURS", "COST"],
      rows: byCause.map(({ state, cause, hours, usd }) => [state, cause, String(hours), usdText(usd)]),
    },
  };
}

function assumptionsSection({ assumptions }: Review): ReviewSection {
  return {
    title: "Drift of assumptions",
    lines: [],
    table: {
      titles: ["ASSUMPTION", "ASSUMED", "MEASURED"],
      rows: assumptions.map(({ name, assumed, measured }) => [name, assumed, measured ?? "no data"]),
    },
  };
}

function lastSection({ last }: Review): ReviewSection {
  if (last === null) return { title: "The last review", lines: [] };
  const { quarter, errorPct, forecast, decisions } = last;
  return {
    title: `The last review (${quarter})`,
    lines: [
      errorPct === null
        ? "Its forecast cannot be compared."
        : `Its forecast was off by ${errorPct}% on average; ${forecast.filter(({ isInside }) => isInside).length} of ${forecast.length} months were in its interval.`,
      ...decisions.map(({ text, outcome }) => `${outcome}: ${text}`),
    ],
  };
}
