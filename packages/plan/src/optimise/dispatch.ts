/** How flexible capacity fills the gap between firm capacity and demand in one month: cheapest first, in whole accelerators. */
import { MILLI, type FlexibleLine, type PlanProblem } from "../document/plan-problem.ts";

export interface Dispatch {
  /** Accelerators of each flexible option, in the order of the problem. */
  readonly accelerators: readonly number[];
  readonly cents: number;
  /** Demand that stays unmet, in thousandths of an accelerator. */
  readonly unmetMilli: number;
}

/** The flexible options of a pool, cheapest work first; their places in `problem.flexible`. */
export function meritOrder({ flexible }: PlanProblem, pool: number): readonly number[] {
  const price = ({ monthCents, speedMilli }: FlexibleLine): number => monthCents / speedMilli;
  return flexible
    .flatMap((line, index) => (line.pool === pool ? [index] : []))
    .toSorted((a, b) => price(flexible[a]!) - price(flexible[b]!) || a - b);
}

/** `need`: demand in accelerators, of which a share may run on spot capacity. */
export function dispatch(problem: PlanProblem, pool: number, need: number, firmMilli: number): Dispatch {
  const accelerators = problem.flexible.map(() => 0);
  let gap = Math.max(0, need * MILLI - firmMilli);
  let cents = 0;
  let spotLeft = Math.floor((need * problem.pools[pool]!.interruptiblePct) / 100) * MILLI;
  for (const index of meritOrder(problem, pool)) {
    if (gap <= 0) break;
    const line = problem.flexible[index]!;
    const most = line.isSpot ? Math.min(line.max, Math.floor(spotLeft / line.speedMilli)) : line.max;
    const taken = Math.min(most, Math.ceil(gap / line.speedMilli));
    accelerators[index] = taken;
    cents += taken * line.monthCents;
    gap -= taken * line.speedMilli;
    if (line.isSpot) spotLeft -= taken * line.speedMilli;
  }
  return { accelerators, cents, unmetMilli: Math.max(0, gap) };
}

/** The demand that flexible options alone can meet, in thousandths, if the demand is `need`. */
export function flexibleMostMilli(problem: PlanProblem, pool: number, need: number): number {
  return need * MILLI - dispatch(problem, pool, need, 0).unmetMilli;
}
