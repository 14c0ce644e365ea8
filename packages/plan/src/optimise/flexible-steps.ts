/**
 * The cost of flexible capacity in a month, over all scenarios, as a function of what firm capacity lacks of the largest demand. Each
 * scenario buys in merit order, so its cost is convex, and so is the sum: steps of rising price.
 */
import { MILLI, type PlanProblem } from "../document/plan-problem.ts";
import { meritOrder } from "./dispatch.ts";

export interface FlexibleStep {
  /** Accelerators of the demand's unit. */
  readonly width: number;
  /** Price of one of them a month, summed over the scenarios. */
  readonly centsPerUnit: number;
}

/** Change of the summed price where firm capacity falls below `at`. */
interface Bend {
  readonly at: number;
  readonly cents: number;
}

/** Steps from the largest demand downwards, to the least firm capacity with which every scenario can be met. */
export function flexibleSteps(problem: PlanProblem, pool: number, month: number): readonly FlexibleStep[] {
  const needs = problem.pools[pool]!.needs.map((need) => need[month]!);
  const scenarios = needs.map((need) => bendsOf(problem, pool, need));
  const least = Math.max(0, ...scenarios.map(({ end }) => end));
  const bends = scenarios.flatMap((scenario) => scenario.bends).toSorted((a, b) => b.at - a.at);
  const steps: FlexibleStep[] = [];
  let price = 0;
  for (const [index, { at, cents }] of bends.entries()) {
    price += cents;
    const width = at - Math.max(least, bends[index + 1]?.at ?? least);
    if (width > 0) steps.push({ width, centsPerUnit: price });
  }
  return steps;
}

function bendsOf(
  problem: PlanProblem,
  pool: number,
  need: number,
): { readonly bends: readonly Bend[]; readonly end: number } {
  const bends: Bend[] = [];
  let spotLeft = Math.floor((need * problem.pools[pool]!.interruptiblePct) / 100);
  let [at, price] = [need, 0];
  for (const index of meritOrder(problem, pool)) {
    const line = problem.flexible[index]!;
    const speed = line.speedMilli / MILLI;
    const width = Math.min(line.max * speed, line.isSpot ? spotLeft : Number.POSITIVE_INFINITY);
    if (width <= 0) continue;
    const cents = line.monthCents / speed;
    bends.push({ at, cents: cents - price });
    price = cents;
    if (line.isSpot) spotLeft -= width;
    at -= width;
    if (at <= 0) break;
  }
  return { bends, end: at };
}
