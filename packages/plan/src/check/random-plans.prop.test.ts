import { describe, expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { loadSolver } from "../optimise/linear-model.ts";
import { makePlan } from "../optimise/make-plan.ts";
import { randomPlan } from "../testing/generated-plans.ts";
import { checkPlan } from "./check-plan.ts";

describe("random plans", () => {
  it("keep every constraint in exact arithmetic, or name the constraints that prevent them", async () => {
    const { seeds, least } = sliceOf({ size: 1000, parts: 97, suiteParts: 11 });
    let solver = await loadSolver();
    let planned = 0;
    for (const [index, seed] of seeds.entries()) {
      // The heap of the solver only grows.
      if (index % 50 === 49) solver = await loadSolver();
      const document = randomPlan(seed);
      const outcome = makePlan(solver, document);
      if (outcome.kind === "planned") {
        planned += 1;
        expect(checkPlan(document, outcome.plan), `seed ${seed}`).toEqual([]);
      } else {
        expect(outcome, `seed ${seed}`).toMatchObject({ kind: "impossible" });
        if (outcome.kind === "impossible") expect(outcome.reason.constraints.length, `seed ${seed}`).toBeGreaterThan(0);
      }
    }
    expect(planned).toBeGreaterThan(least(600));
  });
});
