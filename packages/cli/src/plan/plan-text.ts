/** A plan as text. */
import type { CapacityPlan, ImpossiblePlan } from "@headroom/plan";
import type { CommandContext } from "../command.ts";
import { pairLines, tableLines } from "../output/table.ts";

export function impossibleLines({
  pool,
  month,
  demandAtRisk,
  possible,
  constraints,
}: ImpossiblePlan): readonly string[] {
  return [
    `No plan meets the demand of ${pool} in ${month}: ${demandAtRisk} accelerators at the accepted risk, ${possible} are possible.`,
    "These constraints prevent it; without any one of them this month could be met:",
    ...constraints.map(({ text }) => `  ${text}`),
  ];
}

export function money(usd: number): string {
  return `$${String(Math.round(usd)).replace(/\B(?=(?:\d{3})+$)/g, ",")}`;
}

/** A table whose first columns are text and whose other columns are numbers. */
export function numberTable(
  { terminal, paint }: CommandContext,
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  if (rows.length === 0) return [];
  const columns = titles.map((title, index) => ({ title, align: index < 2 ? ("left" as const) : ("right" as const) }));
  return ["", ...tableLines(columns, rows, terminal.stdout, paint)];
}

export function planLines(context: CommandContext, plan: CapacityPlan): readonly string[] {
  return [
    ...pairLines(summaryPairs(plan), context.paint),
    ...numberTable(
      context,
      [
        "order by",
        "option",
        "accelerators",
        "in service",
        "until",
        "upfront",
        "a month",
        "a month late costs",
        "pays back",
      ],
      plan.purchases.toSorted((a, b) => (a.orderBy < b.orderBy ? -1 : 1)).map(purchaseRow),
    ),
    ...numberTable(
      context,
      ["order by", "build-out", "steps", "ready", "upfront"],
      plan.expansions.map((each) => [each.orderBy, each.name, String(each.steps), each.month, money(each.upfrontUsd)]),
    ),
    ...numberTable(
      context,
      ["month", "retire", "accelerators", "resale"],
      plan.retirements.map((each) => [
        each.month,
        each.cohort,
        String(each.accelerators),
        each.isEndOfLife ? "end of life" : money(each.resaleUsd),
      ]),
    ),
  ];
}

function purchaseRow(each: CapacityPlan["purchases"][number]): readonly string[] {
  return [
    each.orderBy,
    each.option,
    String(each.accelerators),
    each.month,
    each.until ?? "",
    money(each.upfrontUsd),
    money(each.monthlyUsd),
    each.monthLateUsd === null ? `${Math.ceil(each.monthLateShortage)} short` : money(each.monthLateUsd),
    each.paybackMonths === null ? "" : `${each.paybackMonths} months`,
  ];
}

function summaryPairs(plan: CapacityPlan): readonly (readonly [string, string])[] {
  const risks = plan.byMonth.flatMap(({ month, pools }) => pools.map((pool) => ({ month, ...pool })));
  const worst = risks.toSorted((a, b) => b.shortageRisk - a.shortageRisk)[0];
  const shortage =
    worst === undefined || worst.shortageRisk === 0
      ? "none: flexible capacity has no limit"
      : `at most ${(worst.shortageRisk * 100).toFixed(1)}% in a month (${worst.pool}, ${worst.month}); accepted ${plan.riskPct}%`;
  return [
    ["plan", `${plan.name}, ${plan.months} months, at most ${plan.gapPct}% above the cheapest`],
    ["cost", `${money(plan.costUsd)} expected, of it ${money(plan.capitalUsd)} capital`],
    ["utilisation", `${Math.round(plan.utilisation * 100)}% of firm capacity expected`],
    ["shortage", shortage],
  ];
}
