import { beforeAll, describe, expect, it } from "vitest";
import { loadSolver, type Solver } from "../optimise/linear-model.ts";
import { solvePlan } from "./solved-plan.ts";
import { readPlanRequest, type PlanRequest } from "./plan-request.ts";

const plan = {
  kind: "plan",
  name: "lab",
  start: "2027-01",
  months: 9,
  demand: { train: { p50: { "2027-01": 16, "2027-09": 48 } } },
  options: [
    {
      name: "h100",
      kind: "own",
      pool: "train",
      upfrontUsd: 2400,
      monthlyUsd: 300,
      leadTime: "60d",
      block: 8,
      lifeMonths: 48,
    },
    { name: "cloud", kind: "onDemand", pool: "train", usdPerHour: 4, max: 24 },
  ],
  existing: [{ name: "old", pool: "train", accelerators: 24, monthlyUsd: 100, endOfLife: "2027-08" }],
};

function requestOf(value: { readonly plan: unknown; readonly ceilings: unknown }): PlanRequest {
  const reading = readPlanRequest(value);
  if (reading.kind === "refused") throw new Error(JSON.stringify(reading.problems));
  return reading.request;
}

describe("a solved plan", () => {
  let solver: Solver;
  beforeAll(async () => {
    solver = await loadSolver();
  });

  it("says what runs out, what to order by when, and what a late order costs", () => {
    const solved = solvePlan(solver, requestOf({ plan, ceilings: null }));
    expect(solved).toMatchObject({
      hasCeilings: false,
      breaches: [],
      first: { axis: "accelerators", month: "2027-04" },
    });
    expect(solved.pools).toMatchObject([
      { pool: "train", shortP50: "2027-04", existing: [24, 24, 24, 24, 24, 24, 24, 0, 0] },
    ]);
    const [order] = solved.orders;
    expect(order).toMatchObject({ name: "h100", kind: "own", orderBy: "2027-01-31", inService: "2027-04" });
    expect(order?.monthLateUsd).toBeGreaterThan(0);
  });

  it("puts variants beside the plan, and names what prevents one", () => {
    const { variants } = solvePlan(solver, requestOf({ plan, ceilings: null }));
    expect(variants.map(({ name, outcome }) => [name, outcome.kind])).toEqual([
      ["as planned", "planned"],
      ["demand 25% higher", "planned"],
      ["deliveries take 50% longer", "planned"],
      ["every order 3 months late", "planned"],
    ]);
    const [stated, more, longer, late] = variants.map(({ outcome }) => (outcome.kind === "planned" ? outcome : null));
    expect(stated?.differenceUsd).toBe(0);
    expect(more?.differenceUsd).toBeGreaterThan(0);
    expect(late?.differenceUsd).toBeGreaterThan(longer?.differenceUsd ?? 0);
    expect(late?.firstOrderBy).toBeNull();
    const scarce = { ...plan, options: [plan.options[0], { ...plan.options[1], max: 4 }] };
    const [, , , prevented] = solvePlan(solver, requestOf({ plan: scarce, ceilings: null })).variants;
    expect(prevented?.outcome).toMatchObject({
      kind: "impossible",
      pool: "train",
      constraints: expect.arrayContaining([expect.stringContaining("cloud is limited to 4")]),
    });
  });

  it("takes every axis from a document of ceilings", () => {
    const ceilings = {
      kind: "ceilings",
      start: "2027-01",
      months: 9,
      demand: plan.demand,
      axes: [{ name: "power", unit: "kW", capacity: 30, perAccelerator: 1, leadTime: "13w" }],
    };
    const solved = solvePlan(solver, requestOf({ plan, ceilings }));
    expect(solved).toMatchObject({
      hasCeilings: true,
      first: { axis: "power" },
      axes: [{ orderBy: "2027-02", bindsP50: "2027-05" }],
    });
  });
});

describe("documents of a stored plan", () => {
  it("are refused with the place of each problem, and if they are too large to solve for others", () => {
    const large = { ...plan, months: 61, scenarios: 21 };
    expect(readPlanRequest({ plan: large, ceilings: { kind: "ceilings" } })).toMatchObject({
      kind: "refused",
      problems: [
        { path: ["plan", "months"], message: "a stored plan has at most 60, this one has 61" },
        { path: ["plan", "scenarios"] },
        { path: ["ceilings", "start"] },
        { path: ["ceilings", "months"] },
        { path: ["ceilings", "demand"] },
        { path: ["ceilings", "axes"] },
      ],
    });
  });
});
