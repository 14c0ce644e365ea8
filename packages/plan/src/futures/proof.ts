/**
 * Months of futures in which a plan is proved: demand is drawn from the plan's own forecast, orders come with drawn lead times, and the plan
 * is followed with monthly reviews. A caller plays each month with a real scheduler and compares it with `promised`.
 */
import { monthName } from "../document/calendar.ts";
import type { PlanDocument } from "../document/plan-document.ts";
import { MILLI, planProblem, type PlanProblem } from "../document/plan-problem.ts";
import type { Decisions } from "../optimise/decisions.ts";
import { dispatch, flexibleMostMilli } from "../optimise/dispatch.ts";
import { planRule } from "./rules.ts";
import { drawFuture, playFuture } from "./simulate-futures.ts";

export interface ProofMonth {
  readonly future: number;
  readonly month: string;
  readonly pool: string;
  /** Accelerators of the demand's unit, as the mean of the month. */
  readonly demand: number;
  readonly firm: number;
  /** Flexible accelerators that can be counted on; at least what the demand lacks if they have no limit. */
  readonly flexible: number;
  /** The plan's arithmetic for this demand and this capacity: no queue, and demand that does not vary within the month. */
  readonly promised: { readonly utilisation: number; readonly flexible: number; readonly unmet: number };
}

export interface ProofChoice {
  readonly futures: number;
  /** Every so many months one is played. */
  readonly every: number;
}

/** Flexible capacity without a limit is offered up to this share of the demand: more is never used. */
const UNLIMITED_SHARE = 1;

export function proofMonths(
  document: PlanDocument,
  decisions: Decisions,
  { futures, every }: ProofChoice,
): readonly ProofMonth[] {
  const problem = planProblem(document);
  const rule = planRule(problem, decisions);
  const found: ProofMonth[] = [];
  for (let future = 1; future <= futures; future += 1) {
    const drawn = drawFuture(problem, 7919 * future);
    const { firmMilli } = playFuture(problem, decisions.kept, rule, drawn);
    for (let month = 0; month < problem.months; month += every)
      for (const pool of problem.pools.keys()) {
        const demand = drawn.demand[pool]![month]!;
        found.push({ future, ...monthOf(problem, { pool, month, demand, firmMilli: firmMilli[month]![pool]! }) });
      }
  }
  return found;
}

function monthOf(
  problem: PlanProblem,
  {
    pool,
    month,
    demand,
    firmMilli,
  }: { readonly pool: number; readonly month: number; readonly demand: number; readonly firmMilli: number },
): Omit<ProofMonth, "future"> {
  const firm = firmMilli / MILLI;
  const { unmetMilli } = dispatch(problem, pool, demand, firmMilli);
  const isUnlimited = problem.flexible.some(
    (line) => line.pool === pool && !line.isSpot && line.max === Number.POSITIVE_INFINITY,
  );
  // Asked for far more than there is, flexible options give all that they have.
  const most = isUnlimited ? demand * UNLIMITED_SHARE : flexibleMostMilli(problem, pool, 100 * demand) / MILLI;
  return {
    month: monthName(problem.startMonth + month),
    pool: problem.pools[pool]!.name,
    demand,
    firm,
    flexible: Math.min(most, demand),
    promised: {
      utilisation: firm === 0 ? 0 : Math.min(firm, demand) / firm,
      flexible: Math.max(0, demand - firm - unmetMilli / MILLI),
      unmet: unmetMilli / MILLI,
    },
  };
}
