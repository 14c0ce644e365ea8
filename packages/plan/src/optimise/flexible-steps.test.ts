import { describe, expect, it } from "vitest";
import { MILLI, planProblem } from "../document/plan-problem.ts";
import { randomPlan } from "../testing/generated-plans.ts";
import { dispatch } from "./dispatch.ts";
import { flexibleSteps } from "./flexible-steps.ts";

/** Cents of flexible capacity by its steps if firm capacity is `firm`; `undefined` if the steps do not reach so far. */
function costByStairs(steps: ReturnType<typeof flexibleSteps>, lacking: number): number | undefined {
  let [left, cents] = [lacking, 0];
  for (const { width, centsPerUnit } of steps) {
    const taken = Math.min(left, width);
    cents += taken * centsPerUnit;
    left -= taken;
  }
  return left > 1e-9 ? undefined : cents;
}

describe("steps of flexible capacity", () => {
  it("cost as much as the dispatch of each scenario, up to whole accelerators, and end where a scenario is unmet", () => {
    let compared = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const problem = planProblem(randomPlan(seed));
      for (const [pool, { needs }] of problem.pools.entries()) {
        const month = seed % problem.months;
        const steps = flexibleSteps(problem, pool, month);
        const largest = Math.max(...needs.map((need) => need[month]!));
        for (const share of [0, 0.3, 0.8, 1]) {
          const firm = Math.floor(share * largest);
          const each = needs.map((need) => dispatch(problem, pool, need[month]!, firm * MILLI));
          const cents = costByStairs(steps, largest - firm);
          const isUnmet = each.some(({ unmetMilli }) => unmetMilli > MILLI * needs.length);
          if (isUnmet) expect(cents, `seed ${seed}`).toBeUndefined();
          if (cents === undefined) continue;
          const whole = each.reduce((sum, one) => sum + one.cents, 0);
          const most = Math.max(0, ...problem.flexible.map(({ monthCents }) => monthCents));
          // The dispatch rounds each option of each scenario up to a whole accelerator.
          expect(Math.abs(whole - cents), `seed ${seed}`).toBeLessThanOrEqual(2 * most * needs.length + 1);
          compared += 1;
        }
      }
    }
    expect(compared).toBeGreaterThan(100);
  });

  it("rise in price", () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const steps = flexibleSteps(planProblem(randomPlan(seed)), 0, 0);
      const prices = steps.map(({ centsPerUnit }) => centsPerUnit);
      expect(prices).toEqual(prices.toSorted((a, b) => a - b));
    }
  });
});
