import { expect, it } from "vitest";
import { dayNumber } from "../document/calendar.ts";
import { measuredDemand } from "./measured-demand.ts";

/** 1 January 2024 was a Monday. */
const firstDay = dayNumber(2024 * 12);
const weekly = (weeks: number, value: (week: number) => number): Float64Array =>
  Float64Array.from({ length: weeks }, (_, week) => value(week));
const noise = (week: number): number => Math.sin(12.9898 * week) * 4;

it("goes on with the growth of each part, and the medians add up to the sum", () => {
  const parts = [
    { name: "research", values: weekly(104, (week) => 100 + week + noise(week)) },
    { name: "product", values: weekly(104, (week) => 50 + noise(week + 7)) },
  ];
  const { months, parts: own, together, score } = measuredDemand(parts, { firstDay, months: 12 });
  // 104 weeks end on 29 December 2025.
  expect([months[0], months.at(-1), months.length]).toEqual(["2026-01", "2026-12", 12]);
  for (const [month, sum] of together.p50.entries()) {
    expect(own.reduce((all, { p50 }) => all + p50[month]!, 0)).toBeCloseTo(sum, 0);
    expect(together.p10[month]).toBeLessThanOrEqual(sum);
    expect(together.p95[month]).toBeGreaterThanOrEqual(sum);
  }
  expect(Math.abs(together.p50[5]! / (154 + 104 + 24) - 1)).toBeLessThan(0.1);
  expect(own[0]!.p50[11]! - own[0]!.p50[0]!).toBeGreaterThan(20);
  expect(score).toMatchObject({ weeks: 20 });
  expect(score!.relativeMase).toBeLessThan(1);
});

it("holds the median beyond what the history allows, with a growing spread", () => {
  const values = weekly(12, (week) => 80 + noise(week));
  const { together, score } = measuredDemand([{ name: "all", values }], { firstDay, months: 36 });
  expect(together.p50.slice(4)).toEqual(Array.from({ length: 32 }, () => together.p50[4]));
  const spread = (month: number): number => together.p95[month]! - together.p10[month]!;
  expect(spread(35)).toBeGreaterThan(1.5 * spread(5));
  expect(score).toMatchObject({ weeks: 2 });
});

it("stays within bounds for a part that began last week", () => {
  const parts = [
    { name: "new", values: weekly(12, (week) => (week < 11 ? 0 : 8)) },
    { name: "old", values: weekly(12, () => 20) },
  ];
  const { parts: own, together } = measuredDemand(parts, { firstDay, months: 6 });
  for (const p95 of [...own.flatMap((each) => each.p95), ...together.p95]) expect(p95).toBeLessThan(100);
});

it("is nothing where nothing was used", () => {
  const { together } = measuredDemand([{ name: "idle", values: weekly(20, () => 0) }], { firstDay, months: 3 });
  expect(together).toEqual({ p10: [0, 0, 0], p50: [0, 0, 0], p95: [0, 0, 0] });
});
