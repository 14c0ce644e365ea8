import { describe, expect, it } from "vitest";
import { readDemandDocument, sizeDemand, type DemandAnswer, type WorkSizer } from "./demand-document.ts";

const sizer: WorkSizer = {
  trainingHours: (model, tokens) => (model === "small" ? tokens / 1e6 : `no plan fits ${model}`),
  servingAccelerators: (_, { requestsPerS }) => Math.ceil(requestsPerS / 2),
};

function sized(entries: readonly object[]): DemandAnswer {
  const reading = readDemandDocument({
    kind: "demand",
    name: "d",
    pool: "fleet",
    accelerator: "H100",
    start: "2027-01",
    months: 13,
    usefulPct: 50,
    entries,
  });
  if (reading.kind !== "read") throw new Error(JSON.stringify(reading.problems));
  return sizeDemand(reading.document, sizer);
}

describe("demand of people", () => {
  it("sums teams, projects and endpoints, from their months on", () => {
    const answer = sized([
      { kind: "team", name: "lab", owner: "ann", accelerators: 100, growthPct: 50, spreadPct: 0 },
      // 8,766 hours a run, once a year, at half useful time: two accelerators.
      {
        kind: "project",
        name: "p",
        owner: "bo",
        model: "small",
        tokens: 8.766e9,
        runsPerYear: 1,
        from: "2027-07",
        spreadPct: 0,
      },
      {
        kind: "endpoint",
        name: "e",
        owner: "cy",
        model: "small",
        users: 86_400,
        requestsPerUserDay: 1,
        peak: 4,
        promptTokens: 100,
        outputTokens: 10,
        from: "2027-03",
        to: "2027-04",
        spreadPct: 0,
      },
    ]);
    if (answer.kind !== "sized") throw new Error(answer.reason);
    const { p10, p50, p95 } = answer.demand;
    expect([p50[0], p50[2], p50[12]]).toEqual([100, 109, 152]);
    expect([p10, p95]).toEqual([p50, p50]);
    expect(answer.demand.entries.map(({ owner }) => owner)).toEqual(["ann", "bo", "cy"]);
  });

  it("has a project that is unlikely above the median only", () => {
    const answer = sized([
      { kind: "team", name: "lab", owner: "ann", accelerators: 10, spreadPct: 0 },
      { kind: "team", name: "maybe", owner: "bo", accelerators: 90, probabilityPct: 20, spreadPct: 0 },
    ]);
    expect(answer).toMatchObject({ kind: "sized", demand: { p50: Array(13).fill(10), p95: Array(13).fill(100) } });
  });

  it("names the entry that cannot be sized, and refuses entries without an owner", () => {
    const project = { kind: "project", name: "p", owner: "bo", model: "huge", tokens: 1e9, runsPerYear: 1 };
    expect(sized([project])).toEqual({ kind: "impossible", entry: "p", reason: "no plan fits huge" });
    expect(() => sized([{ ...project, owner: undefined }])).toThrow("owner");
  });
});
