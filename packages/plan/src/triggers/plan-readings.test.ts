import { expect, it } from "vitest";
import { readPlanDocument } from "../document/plan-document.ts";
import { planReadings } from "./plan-readings.ts";
import type { PoolCapacity } from "./plan-readings.ts";

const DAY_MS = 86_400_000;
const startMs = Date.UTC(2027, 0, 1);
const stated = {
  kind: "plan",
  name: "small",
  start: "2027-01",
  months: 4,
  demand: { h100: { p50: [80, 90, 120, 150], p95: [100, 110, 180, 200] } },
  options: [
    { kind: "own", name: "slow", pool: "h100", leadTime: "90d", monthlyUsd: 1, upfrontUsd: 1, lifeMonths: 60 },
    { kind: "own", name: "quick", pool: "h100", leadTime: "40d", monthlyUsd: 1, upfrontUsd: 9, lifeMonths: 60 },
  ],
};
const reading = readPlanDocument(stated);
if (reading.kind === "refused") throw new Error("the document is valid");
const plan = reading.document;
const fleet = (changes: Partial<PoolCapacity> = {}): PoolCapacity => ({
  pool: "h100",
  accelerators: 100,
  held: 60,
  orders: [],
  ...changes,
});

it("look at the month in which the quickest order of today comes", () => {
  expect(planReadings(plan, [fleet()], startMs)).toEqual({ forecast: 1.1, pipeline: 0.25 });
  expect(planReadings(plan, [fleet()], startMs + 25 * DAY_MS)).toEqual({ forecast: 1.8, pipeline: 1 });
  expect(planReadings(plan, [fleet({ held: 100 })], startMs).pipeline).toBe(10);
});

it("count outstanding orders that come in time, and no later ones", () => {
  const order = (days: number) => fleet({ orders: [{ accelerators: 100, byMs: startMs + days * DAY_MS }] });
  expect(planReadings(plan, [order(30)], startMs).forecast).toBe(0.55);
  expect(planReadings(plan, [order(50)], startMs).forecast).toBe(1.1);
});

it("count the pool of the same name, the whole fleet for one pool, and else what the plan says", () => {
  const other = fleet({ pool: "b200", accelerators: 10 });
  expect(planReadings(plan, [fleet(), other], startMs).forecast).toBe(1.1);
  expect(planReadings(plan, [other], startMs).forecast).toBeCloseTo(11);
  const existing = [{ name: "bought", pool: "h100", accelerators: 50, monthlyUsd: 1 }];
  const demand = { h100: { p50: [100] }, l40s: { p50: [0] } };
  const two = readPlanDocument({ ...stated, demand, existing });
  expect(two.kind === "read" && planReadings(two.document, [other], startMs)).toEqual({ forecast: 2, pipeline: 0 });
});

it("count the speed of what exists, without what leaves until then", () => {
  const cohort = { name: "old", pool: "h100", accelerators: 40, monthlyUsd: 1, speed: 0.5 };
  const read = readPlanDocument({ ...stated, existing: [{ ...cohort, endOfLife: "2027-02" }] });
  // 100 accelerators at half the speed, less 40 of them in February.
  expect(read.kind === "read" && planReadings(read.document, [fleet()], startMs).forecast).toBeCloseTo(110 / 30);
});

it("are absent before and after the plan", () => {
  expect(planReadings(plan, [fleet()], startMs - DAY_MS)).toEqual({});
  expect(planReadings(plan, [fleet()], Date.UTC(2027, 4, 1))).toEqual({});
});
