import { draw, workloadId } from "@headroom/model";
import type { WorkloadId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { RangeCalibration, usualCalibrationRules } from "./calibration.ts";

const minute = 60_000;
const named = (index: number): WorkloadId => workloadId(`w${index}`);

/**
 * Shares of outcomes outside the calibrated ranges. Real waits are uniform over a span. Forecast ranges cover a span
 * `belief` times as wide; `bias` moves the waits.
 */
function misses(belief: number, bias: number): { below: number; above: number } {
  const calibration = new RangeCalibration();
  const counted = { below: 0, above: 0 };
  const rounds = 6000;
  for (let index = 0; index < rounds; index++) {
    const half = 100 * minute * belief;
    const range = calibration.range({ p10Ms: 200 * minute - half, p50Ms: 200 * minute, p90Ms: 200 * minute + half });
    const waitMs = Math.floor((100 + bias + (200 * draw(1, index, "wait")) / 2 ** 32) * minute);
    calibration.recordRange(named(index), 0, range);
    calibration.started(named(index), waitMs);
    if (index < rounds / 2) continue;
    if (waitMs < range.p10Ms) counted.below += 2 / rounds;
    if (waitMs > range.p90Ms) counted.above += 2 / rounds;
  }
  return counted;
}

describe("ranges that are held against what comes", () => {
  it.each([
    ["far too narrow", 0.3, 0],
    ["right", 0.8, 0],
    ["far too wide", 2, 0],
    ["too early", 0.5, 40],
    ["too late", 0.5, -40],
  ])("miss a tenth on either side after a while: forecasts that are %s", (_, belief, bias) => {
    const { below, above } = misses(belief, bias);
    expect(below).toBeGreaterThan(0.07);
    expect(below).toBeLessThan(0.13);
    expect(above).toBeGreaterThan(0.07);
    expect(above).toBeLessThan(0.13);
  });

  it("count what runs past its upper end at once, and not again when it starts", () => {
    const calibration = new RangeCalibration();
    calibration.recordRange(named(1), 0, { p10Ms: 1, p50Ms: 2, p90Ms: 10 });
    calibration.passed(10);
    expect(calibration.stretch.above).toBe(usualCalibrationRules.firstStretch);
    calibration.passed(11);
    const once = calibration.stretch;
    expect(once.above).toBeGreaterThan(usualCalibrationRules.firstStretch);
    expect(once.below).toBeLessThan(usualCalibrationRules.firstStretch);
    calibration.started(named(1), 50);
    calibration.passed(60);
    expect(calibration.stretch).toEqual(once);
  });

  it("learn from the first range that was given, and nothing from what is withdrawn", () => {
    const calibration = new RangeCalibration();
    calibration.recordRange(named(1), 0, { p10Ms: 10, p50Ms: 20, p90Ms: 30 });
    calibration.recordRange(named(1), 5, { p10Ms: 0, p50Ms: 1, p90Ms: 2 });
    calibration.recordRange(named(2), 0, { p10Ms: 10, p50Ms: 20, p90Ms: 30 });
    calibration.withdrawn(named(2));
    calibration.passed(30);
    calibration.started(named(2), 31);
    expect(calibration.stretch.above).toBe(usualCalibrationRules.firstStretch);
    calibration.started(named(1), 30);
    expect(calibration.stretch.above).toBeLessThan(usualCalibrationRules.firstStretch);
  });

  it("stay what they are past the horizon, in order and at or after the present", () => {
    const calibration = new RangeCalibration();
    const never = Number.POSITIVE_INFINITY;
    expect(calibration.range({ p10Ms: 5, p50Ms: never, p90Ms: never })).toEqual({
      p10Ms: 5,
      p50Ms: never,
      p90Ms: never,
    });
    const { p10Ms, p50Ms, p90Ms } = calibration.range({ p10Ms: 100, p50Ms: 200, p90Ms: never });
    expect([p10Ms, p50Ms, p90Ms]).toEqual([0, 200, never]);
  });
});
