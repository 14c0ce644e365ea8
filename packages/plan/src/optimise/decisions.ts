/** The decisions of a plan in whole numbers, and what follows from them month by month. */
import type { PlanColumns } from "./plan-model.ts";
import { bookCents, capitalMonth, resaleCents, type PlanProblem } from "../document/plan-problem.ts";
import { dispatch } from "./dispatch.ts";

export interface Purchase {
  /** Place in `problem.firm`. */
  readonly line: number;
  /** Month in which it enters service. */
  readonly month: number;
  readonly blocks: number;
  /** First month without it; beyond the horizon if it stays. */
  readonly endMonth: number;
}

export interface Decisions {
  readonly purchases: readonly Purchase[];
  /** Blocks of each cohort that are kept, by month. */
  readonly kept: readonly (readonly number[])[];
  /** Steps of each expansion that are ready from a month on. */
  readonly steps: readonly (readonly number[])[];
}

export function readDecisions(problem: PlanProblem, columns: PlanColumns, values: Float64Array): Decisions {
  const whole = (column: number): number => Math.round(values[column] ?? 0);
  return {
    purchases: problem.firm.flatMap((line, index) => {
      const buys = columns.buys[index]!.map(whole);
      if (line.option.kind === "rent") return rentals(index, buys, columns.ends[index]!.map(whole));
      return buys.flatMap((blocks, month) =>
        blocks > 0 ? [{ line: index, month, blocks, endMonth: month + line.serviceMonths }] : [],
      );
    }),
    kept: columns.keeps.map((keeps) => keeps.map(whole)),
    steps: columns.expansions.map((steps) => steps.map(whole)),
  };
}

/** Rented blocks are given back in the order in which they came. */
function rentals(line: number, buys: readonly number[], ends: readonly number[]): readonly Purchase[] {
  const open: { month: number; blocks: number }[] = [];
  const done: Purchase[] = [];
  for (let month = 0; month < buys.length; month += 1) {
    if (buys[month]! > 0) open.push({ month, blocks: buys[month]! });
    let left = ends[month]!;
    while (left > 0 && open.length > 0) {
      const [first] = open;
      const blocks = Math.min(left, first!.blocks);
      if (first!.month < month) done.push({ line, month: first!.month, blocks, endMonth: month });
      first!.blocks -= blocks;
      left -= blocks;
      if (first!.blocks === 0) open.shift();
    }
  }
  for (const { month, blocks } of open) done.push({ line, month, blocks, endMonth: Number.POSITIVE_INFINITY });
  return done.toSorted((a, b) => a.month - b.month || a.endMonth - b.endMonth);
}

export interface MonthAccount {
  /** Firm capacity of each pool, in thousandths. */
  readonly firmMilli: readonly number[];
  /** Accelerators of each flexible option in each scenario. */
  readonly flexible: readonly (readonly number[])[];
  readonly watts: number;
  readonly rackMilli: number;
  /** Money in cents. */
  readonly upfront: number;
  readonly running: number;
  readonly flexibleSum: number;
  /** Money back: resale, salvage, and at the end of the horizon the book value. */
  readonly returned: number;
  readonly capital: number;
}

export function accountsOf(problem: PlanProblem, decisions: Decisions): readonly MonthAccount[] {
  const { months, pools, scenarioCount } = problem;
  const firmMilli = firmMilliByMonth(problem, decisions);
  return Array.from({ length: months }, (_, month) => {
    const dispatches = pools.map(({ needs }, pool) =>
      needs.map((need) => dispatch(problem, pool, need[month]!, firmMilli[month]![pool]!)),
    );
    const flexible = problem.flexible.map(({ pool }, index) =>
      Array.from({ length: scenarioCount }, (__, scenario) => dispatches[pool]![scenario]!.accelerators[index]!),
    );
    return {
      firmMilli: firmMilli[month]!,
      flexible,
      ...siteUse(problem, decisions, month),
      ...payments(problem, decisions, month),
      flexibleSum: dispatches.flat().reduce((sum, { cents }) => sum + cents, 0),
    };
  });
}

/** Firm capacity by month and pool. */
export function firmMilliByMonth(problem: PlanProblem, { purchases, kept }: Decisions): readonly (readonly number[])[] {
  return Array.from({ length: problem.months }, (_, month) => {
    const milli = problem.pools.map(() => 0);
    for (const { line, month: from, blocks, endMonth } of purchases) {
      const { pool, blockMilli } = problem.firm[line]!;
      if (month >= from && month < endMonth) milli[pool]! += blocks * blockMilli;
    }
    for (const [index, { pool, blockMilli }] of problem.cohorts.entries())
      milli[pool]! += kept[index]![month]! * blockMilli;
    return milli;
  });
}

function siteUse(
  problem: PlanProblem,
  { purchases, kept }: Decisions,
  month: number,
): { watts: number; rackMilli: number } {
  let [watts, rackMilli] = [0, 0];
  for (const { line, month: from, blocks, endMonth } of purchases) {
    if (month < from || month >= endMonth) continue;
    watts += blocks * problem.firm[line]!.blockWatts;
    rackMilli += blocks * problem.firm[line]!.blockRackMilli;
  }
  for (const [index, line] of problem.cohorts.entries()) {
    watts += kept[index]![month]! * line.blockWatts;
    rackMilli += kept[index]![month]! * line.blockRackMilli;
  }
  return { watts, rackMilli };
}

type Payments = Pick<MonthAccount, "upfront" | "running" | "returned" | "capital">;

function payments(problem: PlanProblem, decisions: Decisions, month: number): Payments {
  const sum = { upfront: 0, running: 0, returned: 0, capital: 0 };
  const last = problem.months - 1;
  for (const purchase of decisions.purchases) {
    const line = problem.firm[purchase.line]!;
    const { month: from, endMonth, blocks } = purchase;
    if (capitalMonth(line, from) === month) sum.upfront += blocks * line.upfrontCents;
    if (month >= from && month < endMonth) sum.running += blocks * line.monthlyCents;
    // The last month returns what the horizon ends with; a life that ends before returns its salvage then.
    if (month === Math.min(last, endMonth - 1))
      sum.returned += blocks * bookCents(line, Math.min(last + 1, endMonth) - from);
  }
  sum.capital = sum.upfront;
  for (const [index, line] of problem.cohorts.entries()) {
    const kept = decisions.kept[index]!;
    const before = month === 0 ? line.blocks : kept[month - 1]!;
    sum.running += kept[month]! * line.monthlyCents;
    // A cohort at the end of its life is sold for nothing.
    if (month < line.endMonth) sum.returned += (before - kept[month]!) * resaleCents(line, month);
    if (month === last && month + 1 < line.endMonth) sum.returned += kept[month]! * resaleCents(line, last + 1);
  }
  for (const [index, line] of problem.expansions.entries()) {
    const steps = decisions.steps[index]!;
    sum.upfront += steps[month]! * line.upfrontCents;
    sum.capital += steps[month]! * line.upfrontCents;
    sum.running += steps.slice(0, month + 1).reduce((total, each) => total + each, 0) * line.monthlyCents;
  }
  return sum;
}
