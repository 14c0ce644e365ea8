/** A finished plan as plain data: what to buy by when, what it costs, and how sure it is. Money is in dollars with two decimals. */
import { dayName, monthName } from "../document/calendar.ts";
import {
  arrivedBy,
  demandQuantile,
  governingLine,
  leadQuantileDays,
  normalQuantile,
  probabilityAbove,
} from "../document/distributions.ts";
import { MILLI, orderByDay, resaleCents, type FirmLine, type PlanProblem } from "../document/plan-problem.ts";
import { accountsOf, type Decisions, type MonthAccount, type Purchase } from "./decisions.ts";
import { dispatch, flexibleMostMilli } from "./dispatch.ts";

export interface PlannedPurchase {
  readonly option: string;
  readonly kind: FirmLine["option"]["kind"];
  readonly pool: string;
  /** Month in which the capacity enters service. */
  readonly month: string;
  /** The first month without it; `null` beyond the horizon. */
  readonly until: string | null;
  readonly accelerators: number;
  /** Last day on which the order still arrives in time with a probability of 95%. */
  readonly orderBy: string;
  readonly leadTime: {
    readonly p50Days: number;
    readonly p95Days: number;
    /** The line of the order that is most often the last. */
    readonly line: string;
    /** Probability that an order on the last day is in service by the planned month. */
    readonly inTime: number;
  };
  readonly upfrontUsd: number;
  readonly monthlyUsd: number;
  /** Extra cost of the first month if the order comes a month late; `null` where demand would then stay unmet. */
  readonly monthLateUsd: number | null;
  /** Accelerators of demand at risk that would stay unmet in that month. */
  readonly monthLateShortage: number;
  /**
   * Months after which what is paid upfront is saved, at the saving of the first month over flexible capacity; `null`: nothing is
   * paid upfront, or the first month saves nothing.
   */
  readonly paybackMonths: number | null;
}

export interface PlannedRetirement {
  readonly cohort: string;
  readonly month: string;
  readonly accelerators: number;
  readonly resaleUsd: number;
  readonly isEndOfLife: boolean;
}

export interface PlannedExpansion {
  readonly name: string;
  readonly month: string;
  readonly steps: number;
  readonly orderBy: string;
  readonly upfrontUsd: number;
}

export interface PlannedPoolMonth {
  readonly pool: string;
  readonly demandP50: number;
  /** Demand at the accepted risk. */
  readonly demandAtRisk: number;
  /** Firm capacity in accelerators of the demand's unit. */
  readonly firm: number;
  /** Flexible capacity that can be counted on; `null` without limit. */
  readonly flexibleMost: number | null;
  /** Expected share of the firm capacity that demand uses. */
  readonly utilisation: number;
  /** Probability that demand is above all capacity. */
  readonly shortageRisk: number;
}

export interface PlannedMonth {
  readonly month: string;
  readonly pools: readonly PlannedPoolMonth[];
  /** Accelerators of each flexible option in each scenario. */
  readonly flexible: Readonly<Record<string, readonly number[]>>;
  readonly powerKw: number;
  readonly racks: number;
  readonly upfrontUsd: number;
  readonly runningUsd: number;
  /** Expected cost of flexible capacity. */
  readonly flexibleUsd: number;
  readonly returnedUsd: number;
  readonly costUsd: number;
}

export interface CapacityPlan {
  readonly name: string;
  readonly months: number;
  readonly riskPct: number;
  readonly scenarios: number;
  /** Proven distance of the cost to the cheapest plan, in percent. */
  readonly gapPct: number;
  readonly costUsd: number;
  readonly capitalUsd: number;
  readonly costByOption: Readonly<Record<string, number>>;
  readonly utilisation: number;
  readonly purchases: readonly PlannedPurchase[];
  readonly retirements: readonly PlannedRetirement[];
  readonly expansions: readonly PlannedExpansion[];
  readonly byMonth: readonly PlannedMonth[];
}

export function describePlan(problem: PlanProblem, decisions: Decisions, gap: number): CapacityPlan {
  const accounts = accountsOf(problem, decisions);
  const byMonth = accounts.map((account, month) => monthOf(problem, account, month));
  const costUsd = usd(accounts.reduce((sum, account) => sum + costCents(problem, account), 0));
  return {
    name: problem.document.name,
    months: problem.months,
    riskPct: problem.document.riskPct,
    scenarios: problem.scenarioCount,
    gapPct: Math.round(gap * 10_000) / 100,
    costUsd,
    capitalUsd: usd(accounts.reduce((sum, { capital }) => sum + capital, 0)),
    costByOption: costByOption(problem, decisions, accounts),
    utilisation: overallUtilisation(byMonth),
    purchases: decisions.purchases.map((purchase) => purchaseOf(problem, purchase, accounts)),
    retirements: retirementsOf(problem, decisions),
    expansions: expansionsOf(problem, decisions),
    byMonth,
  };
}

function usd(cents: number): number {
  return cents / 100;
}

function expectedFlexible({ scenarioCount }: PlanProblem, { flexibleSum }: MonthAccount): number {
  return Math.round(flexibleSum / scenarioCount);
}

export function costCents(problem: PlanProblem, account: MonthAccount): number {
  return account.upfront + account.running + expectedFlexible(problem, account) - account.returned;
}

function monthOf(problem: PlanProblem, account: MonthAccount, month: number): PlannedMonth {
  return {
    month: monthName(problem.startMonth + month),
    pools: problem.pools.map(({ name, required, distributions }, pool) => {
      const firmMilli = account.firmMilli[pool]!;
      const most = problem.flexible.some(
        (line) => line.pool === pool && !line.isSpot && line.max === Number.POSITIVE_INFINITY,
      )
        ? null
        : flexibleMostMilli(problem, pool, required[month]!) / MILLI;
      return {
        pool: name,
        demandP50: rounded(distributions[month]!.median),
        demandAtRisk: required[month]!,
        firm: firmMilli / MILLI,
        flexibleMost: most,
        utilisation: expectedUtilisation(problem, { pool, month, firm: firmMilli / MILLI }),
        shortageRisk: most === null ? 0 : rounded(probabilityAbove(distributions[month]!, firmMilli / MILLI + most), 4),
      };
    }),
    flexible: Object.fromEntries(problem.flexible.map(({ option }, index) => [option.name, account.flexible[index]!])),
    powerKw: account.watts / 1000,
    racks: account.rackMilli / MILLI,
    upfrontUsd: usd(account.upfront),
    runningUsd: usd(account.running),
    flexibleUsd: usd(expectedFlexible(problem, account)),
    returnedUsd: usd(account.returned),
    costUsd: usd(costCents(problem, account)),
  };
}

/** Levels of the distribution over which an expectation is taken. */
const LEVELS = 40;
const levelScores = Array.from({ length: LEVELS }, (_, index) => normalQuantile((index + 0.5) / LEVELS));

function expectedUtilisation(
  { pools }: PlanProblem,
  { pool, month, firm }: { readonly pool: number; readonly month: number; readonly firm: number },
): number {
  if (firm <= 0) return 0;
  const distribution = pools[pool]!.distributions[month]!;
  let used = 0;
  for (const score of levelScores) used += Math.min(firm, demandQuantile(distribution, score));
  return rounded(used / LEVELS / firm, 4);
}

function overallUtilisation(byMonth: readonly PlannedMonth[]): number {
  const all = byMonth.flatMap(({ pools }) => pools);
  const firm = all.reduce((sum, each) => sum + each.firm, 0);
  return firm === 0 ? 0 : rounded(all.reduce((sum, each) => sum + each.firm * each.utilisation, 0) / firm, 4);
}

function purchaseOf(problem: PlanProblem, purchase: Purchase, accounts: readonly MonthAccount[]): PlannedPurchase {
  const line = problem.firm[purchase.line]!;
  const { month, blocks, endMonth } = purchase;
  const upfrontUsd = usd(blocks * line.upfrontCents);
  const late = lateCost(problem, purchase, { month, account: accounts[month]! });
  return {
    option: line.option.name,
    kind: line.option.kind,
    pool: problem.pools[line.pool]!.name,
    month: monthName(problem.startMonth + month),
    until: endMonth < problem.months ? monthName(problem.startMonth + endMonth) : null,
    accelerators: blocks * line.option.block,
    orderBy: dayName(orderByDay(problem, month, line.leadDays)),
    leadTime: {
      p50Days: leadQuantileDays(line.lead, 0.5),
      p95Days: line.leadDays,
      line: governingLine(line.lead, line.leadDays),
      inTime: rounded(arrivedBy(line.lead, line.leadDays), 4),
    },
    upfrontUsd,
    monthlyUsd: usd(blocks * line.monthlyCents),
    ...late,
    paybackMonths: paybackMonths(problem, purchase, accounts),
  };
}

/**
 * Months of service until the saving over flexible capacity adds up to what was paid upfront, `null` if it does not while the accelerators
 * are in service. A month in which demand would stay unmet without them has no price, and counts nothing. After the plan's horizon each
 * month saves what its last month does.
 */
function paybackMonths(problem: PlanProblem, purchase: Purchase, accounts: readonly MonthAccount[]): number | null {
  const { line: index, month: first, blocks, endMonth } = purchase;
  let left = usd(blocks * problem.firm[index]!.upfrontCents);
  if (left <= 0) return null;
  let saved = 0;
  const last = Math.min(endMonth, problem.months);
  for (let month = first; month < last; month += 1) {
    saved = lateCost(problem, purchase, { month, account: accounts[month]! }).monthLateUsd ?? 0;
    if (saved >= left) return rounded(month - first + left / saved, 1);
    left -= saved;
  }
  const more = saved > 0 ? left / saved : Number.POSITIVE_INFINITY;
  return last + more <= endMonth ? rounded(last - first + more, 1) : null;
}

interface AccountedMonth {
  readonly month: number;
  readonly account: MonthAccount;
}

/** Extra cost of a month without the purchase: flexible capacity instead, less the running cost that is saved. */
function lateCost(
  problem: PlanProblem,
  { line: index, blocks }: Purchase,
  { month, account }: AccountedMonth,
): Pick<PlannedPurchase, "monthLateUsd" | "monthLateShortage"> {
  const line = problem.firm[index]!;
  const pool = problem.pools[line.pool]!;
  const firmMilli = account.firmMilli[line.pool]!;
  const without = Math.max(0, firmMilli - blocks * line.blockMilli);
  const cost = (milli: number): number =>
    pool.needs.reduce((sum, need) => sum + dispatch(problem, line.pool, need[month]!, milli).cents, 0);
  const more = Math.round((cost(without) - cost(firmMilli)) / problem.scenarioCount) - blocks * line.monthlyCents;
  const atRisk = dispatch(problem, line.pool, pool.required[month]!, without);
  const isUnmet = pool.needs.some((need) => dispatch(problem, line.pool, need[month]!, without).unmetMilli > 0);
  return { monthLateUsd: isUnmet ? null : usd(more), monthLateShortage: atRisk.unmetMilli / MILLI };
}

function retirementsOf(problem: PlanProblem, { kept }: Decisions): readonly PlannedRetirement[] {
  return problem.cohorts.flatMap((line, index) => {
    const keeps = kept[index]!;
    return keeps.flatMap((now, month) => {
      const gone = (month === 0 ? line.blocks : keeps[month - 1]!) - now;
      if (gone <= 0) return [];
      const isEndOfLife = month >= line.endMonth;
      return [
        {
          cohort: line.cohort.name,
          month: monthName(problem.startMonth + month),
          accelerators: gone * line.cohort.block,
          resaleUsd: isEndOfLife ? 0 : usd(gone * resaleCents(line, month)),
          isEndOfLife,
        },
      ];
    });
  });
}

function expansionsOf(problem: PlanProblem, { steps }: Decisions): readonly PlannedExpansion[] {
  return problem.expansions.flatMap((line, index) =>
    steps[index]!.flatMap((count, month) =>
      count > 0
        ? [
            {
              name: line.expansion.name,
              month: monthName(problem.startMonth + month),
              steps: count,
              orderBy: dayName(orderByDay(problem, month, line.leadDays)),
              upfrontUsd: usd(count * line.upfrontCents),
            },
          ]
        : [],
    ),
  );
}

function costByOption(
  problem: PlanProblem,
  { purchases }: Decisions,
  accounts: readonly MonthAccount[],
): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { line: index, blocks, month, endMonth } of purchases) {
    const line = problem.firm[index]!;
    const cents = blocks * (line.upfrontCents + line.monthlyCents * (Math.min(problem.months, endMonth) - month));
    sums[line.option.name] = (sums[line.option.name] ?? 0) + cents / 100;
  }
  for (const [index, line] of problem.flexible.entries()) {
    const total = accounts.reduce(
      (sum, { flexible }) => sum + flexible[index]!.reduce((all, each) => all + each, 0),
      0,
    );
    if (total > 0) sums[line.option.name] = Math.round((total * line.monthCents) / problem.scenarioCount) / 100;
  }
  return sums;
}

function rounded(value: number, digits = 1): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}
