import { describe, expect, it } from "vitest";
import { planProblem } from "../document/plan-problem.ts";
import { loadSolver } from "../optimise/linear-model.ts";
import { makePlan } from "../optimise/make-plan.ts";
import { demandWorld } from "../testing/generated-plans.ts";
import { mainLines, planRule, thresholdRule } from "./rules.ts";
import { drawFuture, foresightCost, playFuture } from "./simulate-futures.ts";

describe("futures of a plan", () => {
  it("cost little more than with perfect foresight, and less than a threshold rule", async () => {
    const solver = await loadSolver();
    const document = demandWorld(3, { months: 14, scenarios: 3 });
    const outcome = makePlan(solver, document);
    if (outcome.kind !== "planned") throw new Error(outcome.kind);
    const problem = planProblem(document);
    const { kept } = outcome.decisions;
    const rule = planRule(problem, outcome.decisions);
    const threshold = thresholdRule(problem, mainLines(problem, outcome.decisions), 0.8);
    let [plan, simple, least] = [0, 0, 0];
    for (let seed = 1; seed <= 6; seed += 1) {
      const future = drawFuture(problem, seed);
      plan += playFuture(problem, kept, rule, future).costUsd;
      simple += playFuture(problem, kept, threshold, future).costUsd;
      least += foresightCost(solver, problem, future);
    }
    expect(plan / least).toBeGreaterThanOrEqual(1);
    expect(plan / least).toBeLessThan(1.2);
    expect(plan).toBeLessThan(simple);
  });

  it("are the same for the same seed", () => {
    const problem = planProblem(demandWorld(3, { months: 6, scenarios: 1 }));
    expect(drawFuture(problem, 5)).toEqual(drawFuture(problem, 5));
    expect(drawFuture(problem, 5)).not.toEqual(drawFuture(problem, 6));
  });
});
