import { expect, it } from "vitest";
import { rejectionProblem } from "./rejection-view.ts";
import { specOf } from "./testing/small-fleet.ts";
import { changesRefusal } from "./workload-changes.ts";

it("leaves fields of another kind of workload to the engine, which names the kind", () => {
  const train = specOf("train", {});
  expect(changesRefusal({ spec: train }, { taskCount: 3 })).toBeNull();
  expect(changesRefusal({ spec: train }, { replicas: { min: 1, max: 2 } })).toBeNull();
  expect(changesRefusal({ spec: specOf("array", { taskCount: 2 }) }, { taskCount: 0 })).not.toBeNull();
});

it("names the command that stops one task of an array", () => {
  const problem = rejectionProblem({ code: "cannotChange", workloadId: "w6", field: "taskCount", cause: "fewerTasks" });
  expect(JSON.stringify(problem)).toContain("headroom stop w6.N.");
});
