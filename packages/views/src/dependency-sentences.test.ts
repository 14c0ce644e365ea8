import { expect, it } from "vitest";
import { rejectionProblem } from "./rejection-view.ts";
import { SmallFleet } from "./testing/small-fleet.ts";
import { workloadView } from "./workload-view.ts";

it("says by name whom ended work waited for, what was expected of it and what became of it", () => {
  const fleet = SmallFleet.withNodes(1, 4);
  const train = fleet.submit("train", { gang: { accelerators: 1 } });
  const mourn = fleet.submit("mourn", { after: [{ workload: "train", on: "failed" }] });
  fleet.finish(train, 0);
  expect(workloadView(fleet.engine.state, mourn)?.endSentence).toBe(
    `Dependency failed: it was to start once train (${train}) failed, but that workload ended: succeeded.`,
  );
});

it("tells a missing artifact from missing work, and circles with their members", () => {
  const detail = (facts: object): string =>
    rejectionProblem({ code: "unknownDependency", name: "model", ...facts }).detail;
  expect(detail({})).toContain("There is no workload model");
  expect(detail({ artifact: "model" })).toContain("No workload in its team produces the artifact model.");
  expect(detail({ artifact: "best" })).toContain("No workload model in its team produces the artifact best.");
  expect(detail({ cycle: ["a", "b", "a"] })).toContain("wait for each other: a > b > a.");
});
