/**
 * Plays a plan on futures drawn from its own forecast: demand of each month, and the lead time of each order line by line. Capacity enters
 * service in the agreed month, or later if its order is late. The cheapest purchases with perfect foresight of demand, as a linear
 * relaxation, are a lower bound for every rule.
 */
import { DAYS_PER_MONTH } from "../document/calendar.ts";
import { demandQuantile } from "../document/distributions.ts";
import { MILLI, wholeAccelerators, type PlanProblem } from "../document/plan-problem.ts";
import { costCents } from "../optimise/capacity-plan.ts";
import { accountsOf, firmMilliByMonth, type Decisions, type Purchase } from "../optimise/decisions.ts";
import { dispatch } from "../optimise/dispatch.ts";
import type { Solver } from "../optimise/linear-model.ts";
import { buildPlanModel } from "../optimise/plan-model.ts";
import { deviationPath, drawnLeadDays, drawsOf } from "./draws.ts";
import { leadMonths, purchaseOf, type OrderRule } from "./rules.ts";

export interface Future {
  /** Demand by pool and month, in accelerators. */
  readonly demand: readonly (readonly number[])[];
  readonly deviations: readonly number[];
  readonly seed: number;
}

export interface FutureOutcome {
  readonly costUsd: number;
  /** Months in which demand of a pool was above all capacity. */
  readonly shortMonths: readonly number[];
  /** Demand that was not met, as a share of all demand. */
  readonly unmetShare: number;
  /** Used share of firm capacity. */
  readonly utilisation: number;
  readonly firmMilli: readonly (readonly number[])[];
  readonly purchases: readonly Purchase[];
}

export function drawFuture(problem: PlanProblem, seed: number): Future {
  const draw = drawsOf(seed);
  const deviations = deviationPath(draw, problem.months);
  const demand = problem.pools.map(({ distributions }) =>
    distributions.map((each, month) => wholeAccelerators(demandQuantile(each, deviations[month]!))),
  );
  return { demand, deviations, seed };
}

/** An unmet accelerator-month costs this many times the dearest flexible one. */
const UNMET_FACTOR = 2;

export function playFuture(
  problem: PlanProblem,
  kept: Decisions["kept"],
  rule: OrderRule,
  future: Future,
): FutureOutcome {
  const draw = drawsOf(future.seed ^ 0x5bd1e995);
  const purchases: Purchase[] = [];
  const steps = problem.expansions.map(() => Array.from({ length: problem.months }, () => 0));
  for (let month = 0; month < problem.months; month += 1) {
    const view = {
      month,
      deviation: future.deviations[month]!,
      demand: future.demand.map((byMonth) => byMonth[month]!),
      scheduled: firmMilliByMonth(problem, { purchases, kept, steps }),
    };
    for (const order of rule(view)) {
      const line = problem.firm[order.line]!;
      // The order leaves on its last day; a month 0 order may have less time than the lead time in whole months.
      const ahead = Math.min(leadMonths(problem, order.line), order.month - month);
      const late = Math.max(0, drawnLeadDays(draw, line.lead) - Math.max(line.leadDays, (ahead - 1) * DAYS_PER_MONTH));
      const service = order.month + Math.ceil(late / DAYS_PER_MONTH);
      if (service < problem.months) purchases.push(purchaseOf(problem, order, service));
    }
  }
  return outcomeOf(problem, { purchases, kept, steps }, future);
}

function outcomeOf(problem: PlanProblem, decisions: Decisions, future: Future): FutureOutcome {
  const actual = actualProblem(problem, future);
  const accounts = accountsOf(actual, decisions);
  const dearest = Math.max(
    0,
    ...problem.flexible.map(({ monthCents, speedMilli }) => (monthCents * MILLI) / speedMilli),
  );
  const shortMonths = new Set<number>();
  let [unmet, all, used, firm, penalty] = [0, 0, 0, 0, 0];
  for (const [month, account] of accounts.entries()) {
    for (const [pool, demand] of future.demand.entries()) {
      const need = demand[month]!;
      const milli = account.firmMilli[pool]!;
      const { unmetMilli } = dispatch(actual, pool, need, milli);
      if (unmetMilli > 0) shortMonths.add(month);
      unmet += unmetMilli;
      all += need * MILLI;
      used += Math.min(milli, need * MILLI);
      firm += milli;
      penalty += (unmetMilli / MILLI) * dearest * UNMET_FACTOR;
    }
  }
  const cents = accounts.reduce((sum, account) => sum + costCents(actual, account), penalty);
  return {
    costUsd: cents / 100,
    shortMonths: [...shortMonths],
    unmetShare: all === 0 ? 0 : unmet / all,
    utilisation: firm === 0 ? 0 : used / firm,
    firmMilli: accounts.map(({ firmMilli }) => firmMilli),
    purchases: decisions.purchases,
  };
}

/** The problem with the demand of one future, known exactly. */
function actualProblem(problem: PlanProblem, future: Future): PlanProblem {
  const pools = problem.pools.map((pool, index) => ({
    ...pool,
    needs: [future.demand[index]!],
    required: future.demand[index]!,
  }));
  return { ...problem, pools, scenarioCount: 1 };
}

/** A lower bound of the cost in one future, if demand were known and every order came as agreed. */
export function foresightCost(solver: Solver, problem: PlanProblem, future: Future): number {
  const actual = actualProblem(problem, future);
  const dearest = Math.max(
    0,
    ...problem.flexible.map(({ monthCents, speedMilli }) => (monthCents * MILLI) / speedMilli),
  );
  const shortageUsd = (dearest * UNMET_FACTOR) / 100;
  const { model } = buildPlanModel(actual, { isRelaxed: true, shortageUsd });
  const outcome = model.solve(solver, { relativeGap: 0, seconds: 60 });
  if (outcome.kind !== "solved") throw new Error(`no plan with perfect foresight for seed ${future.seed}`);
  // The model counts what existing cohorts lose; accounts count what they return.
  return outcome.objective - existingReturn(actual);
}

/** The accounts return the resale price of cohorts at the end, the model charges its loss: the difference is the price at the start. */
function existingReturn(problem: PlanProblem): number {
  return problem.cohorts.reduce(
    (sum, { cohort, blocks, endMonth }) =>
      endMonth > 0 ? sum + (Math.round(cohort.resaleUsd * 100) * cohort.block * blocks) / 100 : sum,
    0,
  );
}
