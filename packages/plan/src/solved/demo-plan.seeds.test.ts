import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { loadSolver } from "../optimise/linear-model.ts";
import { solvePlan } from "./solved-plan.ts";
import { readPlanRequest } from "./plan-request.ts";

const folder = path.resolve(import.meta.dirname, "../../../console/src/demo/plan");

/** After a change of the planner, `npm run test:seeds -- packages/plan/src/solved -u` writes the file again. */
it("the plan that the console's demo shows is the solution of its documents", async () => {
  const reading = readPlanRequest(JSON.parse(readFileSync(path.join(folder, "documents.json"), "utf8")));
  if (reading.kind === "refused") throw new Error(JSON.stringify(reading.problems));
  const solved = solvePlan(await loadSolver(), reading.request);
  expect(solved.breaches).toEqual([]);
  await expect(`${JSON.stringify(solved, null, 1)}\n`).toMatchFileSnapshot(path.join(folder, "solved.json"));
});
