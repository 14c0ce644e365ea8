import { describe, expect, it } from "vitest";
import { forecastSpares, observedP99 } from "./failure-model.ts";
import {
  concurrencyBetween,
  concurrencyMoments,
  concurrencyQuantile,
  faultIntervals,
  type FaultEvent,
} from "./fault-trace.ts";
import { generatedFaults, type GeneratedFaults } from "./testing/generated-faults.ts";

const event = (nodeId: string, isStart: boolean, atDays: number): FaultEvent => ({
  nodeId,
  kind: "k",
  isStart,
  atDays,
});

describe("recorded faults", () => {
  it("pairs starts and ends of a node, and leaves faults open at both ends of the trace", () => {
    const intervals = faultIntervals([
      event("b", false, 3),
      event("a", true, 1),
      event("a", false, 2),
      event("c", true, 4),
    ]);
    expect(intervals).toEqual([
      { startDays: Number.NEGATIVE_INFINITY, endDays: 3 },
      { startDays: 1, endDays: 2 },
      { startDays: 4, endDays: Number.POSITIVE_INFINITY },
    ]);
  });

  it("weighs concurrency by time", () => {
    const intervals = [
      { startDays: 0, endDays: 5 },
      { startDays: 4, endDays: 6 },
    ];
    const shares = concurrencyBetween(intervals, 0, 10);
    expect(shares.map((share) => Math.round(share * 10))).toEqual([4, 5, 1]);
    expect([0.4, 0.9, 0.99].map((share) => concurrencyQuantile(shares, share))).toEqual([0, 1, 2]);
    expect(concurrencyMoments(shares).mean).toBeCloseTo(0.7);
  });
});

/** The forecast from the first 60% of the days over the P99 of the rest, for several seeds. */
function ratios(of: Omit<GeneratedFaults, "seed">, seeds: number): readonly number[] {
  return Array.from({ length: seeds }, (_, seed) => {
    const intervals = faultIntervals(generatedFaults({ ...of, seed }));
    const fitDays = of.days * 0.6;
    return forecastSpares(intervals, 0, fitDays).p99Concurrent / observedP99(intervals, fitDays, of.days);
  }).toSorted((left, right) => left - right);
}

const median = (sorted: readonly number[]): number => sorted[sorted.length >> 1] ?? Number.NaN;

describe("the forecast of concurrent faults", () => {
  it.each([
    ["independent faults", { days: 100, causesPerDay: () => 3, faultsPerCause: 1, repairDays: 4 }],
    ["bursts of five", { days: 150, causesPerDay: () => 0.6, faultsPerCause: 5, repairDays: 4 }],
    [
      "a weekly season",
      { days: 140, causesPerDay: (day: number) => (day % 7 < 5 ? 2 : 0.3), faultsPerCause: 2, repairDays: 2 },
    ],
  ])("is unbiased for %s", (_name, of) => {
    const found = ratios(of, 5);
    expect(median(found)).toBeGreaterThan(0.8);
    expect(median(found)).toBeLessThan(1.2);
  });

  it("lies below a trend that goes on after the fitted days, as every forecast of a steady state does", () => {
    const found = ratios({ days: 100, causesPerDay: (day) => 1 + day / 25, faultsPerCause: 1, repairDays: 4 }, 3);
    expect(median(found)).toBeGreaterThan(0.6);
    expect(median(found)).toBeLessThan(1);
  });

  it("handles few faults, open faults, and looks at nothing after the fitted days", () => {
    const few = faultIntervals([event("a", true, 1), event("a", false, 2), event("b", true, 9)]);
    expect(forecastSpares(few, 0, 10)).toMatchObject({ p99Concurrent: 1, model: { faultCount: 2 } });
    const later = faultIntervals([
      event("a", true, 1),
      event("a", false, 2),
      event("b", true, 9),
      event("c", true, 11),
      event("b", false, 400),
    ]);
    expect(forecastSpares(later, 0, 10)).toEqual(forecastSpares(few, 0, 10));
    expect(forecastSpares([], 0, 10)).toMatchObject({ p99Concurrent: 0, model: { repairDays: null } });
  });
});
