/** Simple ways to get the same capacity, to compare a plan with: everything owned, everything reserved, everything on demand. */
import type { FirmLine, PlanProblem } from "../document/plan-problem.ts";
import { costCents } from "../optimise/capacity-plan.ts";
import { accountsOf, firmMilliByMonth, type Decisions, type Purchase } from "../optimise/decisions.ts";
import { MILLI } from "../document/plan-problem.ts";

export type Baseline = "own" | "reserve" | "onDemand";

/**
 * Expected cost in dollars; `undefined` if the document has no such option. Owned or reserved capacity covers the demand at the accepted
 * risk, in the cheapest option of its kind; until its first delivery demand is met on demand. Limits of the site do not apply.
 */
export function baselineCost(problem: PlanProblem, baseline: Baseline): number | undefined {
  const purchases: Purchase[] = [];
  for (const pool of problem.pools.keys()) {
    if (baseline === "onDemand") {
      if (!problem.flexible.some((line) => line.pool === pool && !line.isSpot)) return undefined;
      continue;
    }
    const line = cheapest(problem, pool, baseline);
    if (line === undefined) return undefined;
    purchases.push(...covering(problem, pool, line));
  }
  const seen = baseline === "onDemand" ? withoutSpot(problem) : problem;
  return expectedCost(seen, { purchases, kept: keptToEnd(seen), steps: seen.expansions.map(() => nothing(seen)) });
}

function expectedCost(problem: PlanProblem, decisions: Decisions): number {
  const cents = accountsOf(problem, decisions).reduce((sum, account) => sum + costCents(problem, account), 0);
  return cents / 100;
}

function withoutSpot(problem: PlanProblem): PlanProblem {
  return { ...problem, flexible: problem.flexible.filter(({ isSpot }) => !isSpot) };
}

function nothing({ months }: PlanProblem): readonly number[] {
  return Array.from({ length: months }, () => 0);
}

/** Existing cohorts that stay until their end of life. */
function keptToEnd(problem: PlanProblem): readonly (readonly number[])[] {
  return problem.cohorts.map(({ blocks, endMonth }) =>
    nothing(problem).map((_, month) => (month < endMonth ? blocks : 0)),
  );
}

/** Cost of one unit of work a month over the whole term. */
function monthlyPrice({ option, upfrontCents, monthlyCents, serviceMonths, blockMilli }: FirmLine): number {
  const lost = option.kind === "own" ? 1 - option.salvagePct / 100 : 1;
  return ((upfrontCents * lost) / serviceMonths + monthlyCents) / blockMilli;
}

function cheapest(problem: PlanProblem, pool: number, kind: "own" | "reserve"): number | undefined {
  return problem.firm
    .flatMap((line, index) => (line.pool === pool && line.option.kind === kind ? [index] : []))
    .toSorted((a, b) => monthlyPrice(problem.firm[a]!) - monthlyPrice(problem.firm[b]!))[0];
}

/** Blocks of one option, bought as demand at risk grows. */
function covering(problem: PlanProblem, pool: number, index: number): readonly Purchase[] {
  const line = problem.firm[index]!;
  const kept = keptToEnd(problem);
  const purchases: Purchase[] = [];
  for (let month = line.firstMonth; month < problem.months; month += 1) {
    const firm = firmMilliByMonth(problem, { purchases, kept, steps: [] })[month]![pool]!;
    const blocks = Math.ceil((problem.pools[pool]!.required[month]! * MILLI - firm) / line.blockMilli);
    if (blocks > 0) purchases.push({ line: index, month, blocks, endMonth: month + line.serviceMonths });
  }
  return purchases;
}
