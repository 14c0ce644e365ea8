import { beforeAll, describe, expect, it } from "vitest";
import { checkPlan } from "../check/check-plan.ts";
import { readPlanDocument, type PlanDocument } from "../document/plan-document.ts";
import type { CapacityPlan } from "./capacity-plan.ts";
import { loadSolver, type Solver } from "./linear-model.ts";
import { makePlan } from "./make-plan.ts";

let solver: Solver;
beforeAll(async () => {
  solver = await loadSolver();
});

const onDemand = { name: "cloud", kind: "onDemand", pool: "train", usdPerHour: 4 };
const own = {
  name: "h100",
  kind: "own",
  pool: "train",
  upfrontUsd: 24_000,
  monthlyUsd: 300,
  leadTime: "3m",
  block: 8,
  lifeMonths: 48,
};

function documentOf(parts: object): PlanDocument {
  const reading = readPlanDocument({
    kind: "plan",
    name: "test",
    start: "2027-01",
    months: 12,
    demand: { train: { p50: [64] } },
    options: [onDemand],
    ...parts,
  });
  if (reading.kind === "refused") throw new Error(JSON.stringify(reading.problems));
  return reading.document;
}

function planOf(document: PlanDocument): CapacityPlan {
  const outcome = makePlan(solver, document);
  if (outcome.kind !== "planned") throw new Error(JSON.stringify(outcome));
  expect(checkPlan(document, outcome.plan)).toEqual([]);
  return outcome.plan;
}

describe("a plan", () => {
  it("bridges the lead time on demand and buys what is cheaper afterwards", () => {
    const plan = planOf(documentOf({ options: [own, onDemand] }));
    expect(plan.purchases).toEqual([
      expect.objectContaining({
        option: "h100",
        month: "2027-05",
        orderBy: "2027-01-29",
        accelerators: 64,
        until: null,
      }),
    ]);
    expect(plan.byMonth[3]!.flexible).toEqual({ cloud: [64, 64, 64, 64, 64] });
    expect(plan.byMonth[4]!.flexible).toEqual({ cloud: [0, 0, 0, 0, 0] });
    // 4 months × 64 × $4 × 730 h; then 8 months × 64 × $300, and the price less the book value after 8 of 48 months.
    const book = 2400 + (21_600 * 40) / 48;
    expect(plan.costUsd).toBeCloseTo(4 * 64 * 2920 + 8 * 64 * 300 + 64 * (24_000 - book), 2);
  });

  it("is paid back by the savings of each month, beyond the horizon by those of its last month", () => {
    const payback = (parts: object): number | null =>
      planOf(documentOf({ options: [own, onDemand], ...parts })).purchases[0]?.paybackMonths ?? null;
    // A month saves $4 × 730 h less $300 an accelerator. Eight months are within the horizon.
    expect(payback({})).toBe(Math.round((10 * 24_000) / 2_620) / 10);
    // Demand halves after four months of service: the other half saves its running cost alone from then on.
    const demand = { train: { p50: [64, 64, 64, 64, 64, 64, 64, 64, 32] } };
    const left = 64 * 24_000 - 4 * 64 * 2_620;
    const later = 32 * 2_920 - 64 * 300;
    const fewer = planOf(documentOf({ options: [{ ...own, block: 64 }, onDemand], demand })).purchases[0];
    expect(fewer).toMatchObject({ accelerators: 64, paybackMonths: Math.round(10 * (4 + left / later)) / 10 });
    expect(payback({ options: [{ ...own, upfrontUsd: 0, monthlyUsd: 900 }, onDemand] })).toBeNull();
  });

  it("orders earlier the line of an order that arrives last", () => {
    const leadTime = [
      { line: "nodes", p50: "4w", p95: "8w" },
      { line: "switchgear", p50: "10w", p95: "20w" },
    ];
    const [purchase] = planOf(documentOf({ options: [{ ...own, leadTime }, onDemand] })).purchases;
    expect(purchase!.leadTime).toMatchObject({ p95Days: 141, line: "switchgear" });
    expect(purchase!.leadTime.inTime).toBeGreaterThanOrEqual(0.95);
  });

  it("covers usual demand with firm capacity and rare demand on demand", () => {
    const demand = { train: { p50: [64], p95: [160] } };
    const plan = planOf(
      documentOf({
        months: 24,
        demand,
        options: [
          { ...own, leadTime: "0d" },
          { ...onDemand, max: 400 },
        ],
      }),
    );
    const [month] = plan.byMonth[12]!.pools;
    expect(month!.firm).toBeGreaterThan(64);
    expect(month!.firm).toBeLessThan(160);
    expect(month!.shortageRisk).toBeLessThan(0.05);
  });

  it("keeps an old cohort only while it is worth its running cost", () => {
    const existing = (monthlyUsd: number): object[] => [
      { name: "v100", pool: "train", accelerators: 64, monthlyUsd, resaleUsd: 500 },
    ];
    const kept = planOf(documentOf({ options: [{ ...own, leadTime: "0d" }, onDemand], existing: existing(200) }));
    expect(kept.retirements).toEqual([]);
    const sold = planOf(documentOf({ options: [{ ...own, leadTime: "0d" }, onDemand], existing: existing(1500) }));
    expect(sold.retirements).toEqual([
      { cohort: "v100", month: "2027-01", accelerators: 64, resaleUsd: 32_000, isEndOfLife: false },
    ]);
  });

  it("gives rented capacity back after its minimum term", () => {
    const rent = {
      name: "market",
      kind: "rent",
      pool: "train",
      monthlyUsd: 1500,
      leadTime: "0d",
      block: 8,
      minimumMonths: 3,
    };
    const demand = { train: { p50: [0, 0, 64, 64, 64, 64, 0, 0] } };
    const { purchases } = planOf(documentOf({ months: 8, demand, options: [rent, onDemand] }));
    expect(purchases).toEqual([expect.objectContaining({ month: "2027-03", until: "2027-07", accelerators: 64 })]);
  });

  it("builds out a site before it adds hardware", () => {
    const hall = { name: "hall", adds: { power: 200 }, upfrontUsd: 50_000, leadTime: "5m" };
    const plan = planOf(
      documentOf({
        months: 24,
        options: [{ ...own, kw: 1.3 }, onDemand],
        limits: { power: [{ from: "2027-01", max: 50 }] },
        expansions: [hall],
      }),
    );
    expect(plan.expansions).toEqual([expect.objectContaining({ name: "hall", month: "2027-07", steps: 1 })]);
    expect(plan.purchases.map(({ month, accelerators }) => [month, accelerators])).toEqual([
      ["2027-05", 32],
      ["2027-07", 32],
    ]);
  });
});

describe("an impossible plan", () => {
  it("names an irreducible set of constraints in the terms of the document", () => {
    const document = documentOf({
      options: [
        { ...own, max: 800, kw: 1 },
        { ...onDemand, max: 40 },
        { name: "lease", kind: "lease", pool: "train", monthlyUsd: 900, leadTime: "20d", termMonths: 12, max: 16 },
      ],
      limits: { capital: [{ from: "2027-01", to: "2027-12", usd: 5e6 }], power: [{ from: "2027-01", max: 500 }] },
      demand: { train: { p50: [40, 60] } },
    });
    const outcome = makePlan(solver, document);
    expect(outcome).toMatchObject({
      kind: "impossible",
      reason: { pool: "train", month: "2027-02", demandAtRisk: 60, possible: 56 },
    });
    if (outcome.kind !== "impossible") return;
    expect(outcome.reason.constraints.map(({ text }) => text)).toEqual([
      "lease is limited to 16 accelerators",
      "cloud is limited to 40 accelerators",
      "h100 ordered on the first day is in service in 2027-05 (lead time 92 days at P95)",
    ]);
  });

  it("says how a block size and a limit of power exclude each other", () => {
    const document = documentOf({
      options: [{ ...own, leadTime: "0d", kw: 1, block: 72 }],
      limits: { power: [{ from: "2027-01", max: 70 }] },
      demand: { train: { p50: [64] } },
    });
    expect(makePlan(solver, document)).toMatchObject({
      kind: "impossible",
      reason: { possible: 0, constraints: [{ id: "power", text: "power is limited: 70 kW from 2027-01" }] },
    });
  });
});

describe("the checker", () => {
  it("finds every planted breach", () => {
    const document = documentOf({
      options: [
        { ...own, leadTime: "0d", kw: 1, max: 64 },
        { ...onDemand, max: 60 },
      ],
      limits: { capital: [{ from: "2027-01", to: "2027-12", usd: 1_600_000 }], power: [{ from: "2027-01", max: 64 }] },
      existing: [{ name: "old", pool: "train", accelerators: 8, kw: 1, monthlyUsd: 100, endOfLife: "2027-03" }],
    });
    const plan = planOf(document);
    const purchase = plan.purchases[0]!;
    const withPurchase = (changes: object): CapacityPlan => ({ ...plan, purchases: [{ ...purchase, ...changes }] });
    const withMonth = (changes: object): CapacityPlan => ({
      ...plan,
      byMonth: plan.byMonth.with(0, { ...plan.byMonth[0]!, ...changes }),
    });
    const planted: readonly (readonly [string, CapacityPlan])[] = [
      ["not in blocks", withPurchase({ accelerators: purchase.accelerators - 1 })],
      ["ordered too late", withPurchase({ orderBy: "2027-03-01" })],
      ["before the plan starts", withPurchase({ orderBy: "2026-12-01" })],
      ["stays", withPurchase({ until: "2027-08" })],
      ["upfront price is wrong", withPurchase({ upfrontUsd: 1 })],
      ["monthly cost is wrong", withPurchase({ monthlyUsd: 1 })],
      ["more than 64", withPurchase({ accelerators: 640 })],
      [
        "demand at risk is not met",
        { ...plan, purchases: [], byMonth: plan.byMonth.map((each) => ({ ...each, flexible: {} })) },
      ],
      ["is used beyond its limit", withMonth({ flexible: { cloud: [61, 0, 0, 0, 0] } })],
      [
        "demand of 64 is not met",
        { ...plan, purchases: [], byMonth: plan.byMonth.map((each) => ({ ...each, flexible: {} })) },
      ],
      ["power in month 0", withMonth({ powerKw: 1 })],
      ["running costs are wrong", withMonth({ runningUsd: 1 })],
      ["the cost is not the sum", withMonth({ costUsd: 1 })],
      ["end of life", { ...plan, retirements: [] }],
      ["the total cost", { ...plan, costUsd: plan.costUsd - 0.01 }],
    ];
    for (const [breach, wrong] of planted)
      expect(
        checkPlan(document, wrong).some((each) => each.includes(breach)),
        breach,
      ).toBe(true);
    const poor = {
      ...document,
      limits: {
        ...document.limits,
        capital: [{ from: "2027-01", to: "2027-12", usd: 100 }],
        power: [{ from: "2027-01", max: 10 }],
      },
    };
    const found = checkPlan(poor, plan).join("\n");
    expect(found).toContain("capital from 2027-01 to 2027-12");
    expect(found).toContain("power in month 5: ");
  });
});
