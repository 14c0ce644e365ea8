import type { Event } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { CostReport } from "../report/cost-report.ts";
import { UsageFold } from "../rows/usage-fold.ts";
import { nextQuarter, quarterOf, type Quarter } from "./quarter.ts";
import { QuarterFold, type QuarterFacts } from "./quarter-facts.ts";
import { reviewQuarter, type Review, type ReviewedPlan } from "./review.ts";

const at = (text: string): number => Date.parse(text.length > 10 ? text : `${text}T00:00:00Z`);
const quarter = quarterOf("2026Q3")!;

const pool = { name: "p", site: "s", executor: "e", acceleratorType: "H100", priceMicroUsdPerHour: 0 };
const node = (id: string) => ({ id, pool: "p", fabric: [], acceleratorCount: 8, coresMilli: 0, memoryMib: 0 });
const gang = { workers: 1, accelerators: 8, coresMilli: 0, memoryMib: 0 };
const submitted = (workloadId: string, atMs: number) => ({
  kind: "workloadSubmitted",
  atMs,
  workloadId,
  actor: "ann",
  spec: { name: workloadId, team: "lab", kind: "train", gang },
});
const placed = (workloadId: string, atMs: number) => ({
  kind: "gangPlaced",
  atMs,
  workloadId,
  attemptId: `${workloadId}.0.1`,
  task: 0,
  number: 1,
  acceleratorType: "H100",
  workers: [{ node: "n1", accelerators: [] }],
});
const order = {
  name: "po-1",
  pool: "p",
  nodeCount: 2,
  shape: { acceleratorCount: 8, coresMilli: 0, memoryMib: 0 },
  arrival: { kind: "leadTime", p50Ms: 30 * 86_400_000, p95Ms: 60 * 86_400_000 },
};

/** One node from June on. `a` holds it in July and August, `b` waits for 10 days of August and then holds it. */
const life = [
  { kind: "poolDefined", atMs: at("2026-06-01"), pool },
  { kind: "nodeJoined", atMs: at("2026-06-01"), node: node("n1") },
  submitted("a", at("2026-07-01")),
  placed("a", at("2026-07-01")),
  { kind: "capacityOrderCreated", atMs: at("2026-07-10"), order, phase: "ordered", actor: "ann", reason: "" },
  submitted("b", at("2026-08-10")),
  {
    kind: "attemptEnded",
    atMs: at("2026-08-20"),
    attemptId: "a.0.1",
    outcome: "lost",
    exit: null,
    detail: "",
    retryAtMs: null,
  },
  { kind: "nodeLost", atMs: at("2026-08-20"), nodeId: "n1", detail: "" },
  { kind: "nodeReturned", atMs: at("2026-08-20"), nodeId: "n1" },
  placed("b", at("2026-08-20")),
  { kind: "capacityOrderFilled", atMs: at("2026-08-29"), name: "po-1" },
  { kind: "nodeDrainStarted", atMs: at("2026-10-02"), nodeId: "n1", actor: "ann" },
] as unknown as readonly Event[];

function factsOf(events: readonly Event[], of: Quarter = quarter): QuarterFacts {
  const fold = new QuarterFold(of);
  const usage = new UsageFold();
  for (const event of events) fold.event(event);
  for (const row of [...usage.fold(events), ...usage.openRows(0)]) fold.row(row);
  return fold.end(Math.min(of.toMs, usage.atMs));
}

const noCost = () => {
  const { whole } = new CostReport("month", []);
  return { whole, byMonth: [], byCause: [], unpricedPools: [] };
};
const flat = (values: Float64Array, horizon: number) => {
  const value = values.at(-1) ?? 0;
  const series = (factor: number) => new Float64Array(horizon).fill(value * factor);
  return { mean: series(1), lo80: series(0.5), hi80: series(1.5) };
};
const plan: ReviewedPlan = {
  name: "lab",
  months: ["2026-07", "2026-08", "2026-09"],
  pools: [{ pool: "p", demandP50: [8, 8, 8], demandAtRisk: [9, 9, 9], planned: [8, 8, 16] }],
  orders: [
    { orderBy: "2026-07-12", name: "h100", pool: "p", count: 16, lead: { p50Days: 40 } },
    { orderBy: "2026-11-30", name: "h100", pool: "p", count: 32, lead: { p50Days: 60 } },
  ],
  axes: [{ axis: "power", bindsP50: null, bindsP95: "2027-06", probability: 0.3, orderBy: "2026-12" }],
};

function reviewOf(facts: QuarterFacts, part: { readonly of?: Quarter; readonly last?: Review } = {}): Review {
  return reviewQuarter({
    quarter: part.of ?? quarter,
    facts,
    cost: noCost(),
    plan,
    forecast: flat,
    last: part.last ?? null,
  });
}

describe("quarters", () => {
  it("have three months and a successor", () => {
    expect(quarter.months.map(({ month }) => month)).toEqual(["2026-07", "2026-08", "2026-09"]);
    expect([quarter.fromMs, quarter.toMs]).toEqual([at("2026-07-01"), at("2026-10-01")]);
    expect(nextQuarter(quarterOf("2026Q4")!)).toMatchObject({ name: "2027Q1", fromMs: at("2027-01-01") });
    expect(["2026Q5", "26Q1", "2026-Q1"].map(quarterOf)).toEqual([null, null, null]);
  });
});

describe("the review of a quarter", () => {
  it("puts demand beside plan and forecast, with waiting demand", () => {
    const review = reviewOf(factsOf(life));
    expect(review.months).toMatchObject([
      {
        month: "2026-07",
        demand: 8,
        held: 8,
        waiting: 0,
        capacity: 8,
        forecast: { mean: 0 },
        plan: { p50: 8, capacity: 8 },
      },
      // Ten days of August in which eight accelerators were waited for.
      { month: "2026-08", demand: 10.6, held: 8, waiting: 2.6 },
      { month: "2026-09", demand: 8, waiting: 0, plan: { capacity: 16 } },
    ]);
    expect(review.waiting).toMatchObject({
      acceleratorHours: 1920,
      startedCount: 2,
      meanWaitMs: at("2026-01-06") - at("2026-01-01"),
    });
    expect([review.isWhole, review.through]).toEqual([true, "2026-09-30"]);
    expect(review.failures).toMatchObject({ attemptsByOutcome: { lost: 1 }, nodeLosses: [{ node: "n1", count: 1 }] });
  });

  it("puts orders of the plan beside those of the journal, and lead times beside the assumed ones", () => {
    const { orders, assumptions } = reviewOf(factsOf(life));
    expect(orders).toEqual({
      planned: [{ orderBy: "2026-07-12", name: "h100", pool: "p", count: 16 }],
      recorded: [
        { name: "po-1", pool: "p", accelerators: 16, orderedOn: "2026-07-10", inServiceOn: "2026-08-29", lateDays: 20 },
      ],
    });
    expect(assumptions).toContainEqual({
      name: "lead time, median",
      assumed: "50 days",
      measured: "50 days in 1 order",
    });
    expect(assumptions).toContainEqual({ name: "price of power", assumed: "of the plan document", measured: null });
  });

  it("asks for decisions, and the next review says which were taken and how the forecast fared", () => {
    const first = reviewOf(factsOf(life));
    expect(first.decisions.map(({ text }) => text)).toEqual([
      "Order 32 × h100 by 2026-11-30.",
      "Extend power (order by 2026-12): it can run out in 2027-06, within the horizon with a probability of 30%.",
      "Revise the plan: demand was above the planned risk in 2026-08.",
      "Revise the plan: demand left the forecast's interval in 2026-07, 2026-08, 2026-09.",
      "Add capacity or shift work: on average 11% of what ran was waiting besides.",
    ]);
    const later = [
      ...life,
      {
        kind: "capacityOrderCreated",
        atMs: at("2026-11-20"),
        order: { ...order, name: "po-2", nodeCount: 4 },
        phase: "ordered",
        actor: "ann",
        reason: "",
      },
      { kind: "nodeLost", atMs: at("2026-12-31T23:00:00Z"), nodeId: "n1", detail: "" },
    ] as unknown as readonly Event[];
    const of = nextQuarter(quarter);
    const { last } = reviewOf(factsOf(later, of), { of, last: first });
    expect(last).toMatchObject({
      quarter: "2026Q3",
      errorPct: 0,
      forecast: [{ month: "2026-10", demand: 8, isInside: true }, {}, {}],
    });
    expect(last?.decisions.map(({ outcome }) => outcome).slice(0, 2)).toEqual(["done", "not measured"]);
  });

  it("is the same from the same journal, whatever follows the quarter, and says what is not known", () => {
    const more = [...life, submitted("c", at("2026-11-01"))] as unknown as readonly Event[];
    expect(JSON.stringify(reviewOf(factsOf(more)))).toBe(JSON.stringify(reviewOf(factsOf(life))));
    const early = factsOf(life.filter(({ atMs }) => atMs < at("2026-08-15")));
    const review = reviewOf(early);
    expect([review.isWhole, review.next, review.through]).toEqual([false, null, "2026-08-09"]);
    expect(review.missing).toContain("cost: no pool has a price in this quarter");
  });
});
