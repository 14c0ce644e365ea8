import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedSeries } from "./series.ts";

/** Steps of a quantity. After `gapMs` the quantity changes to `value`. */
const steps = fc.array(
  fc.record({ gapMs: fc.integer({ min: 0, max: 50_000 }), value: fc.integer({ min: 0, max: 900 }) }),
  {
    maxLength: 300,
  },
);

function run(list: readonly { gapMs: number; value: number }[]) {
  const series = new BoundedSeries(100);
  let atMs = 0;
  let value = 0;
  let area = 0;
  let max = 0;
  for (const step of list) {
    area += value * step.gapMs;
    if (step.gapMs > 0) max = Math.max(max, value);
    atMs += step.gapMs;
    value = step.value;
    series.set(atMs, value);
  }
  return { series, endMs: atMs, area, max };
}

describe("a bounded series", () => {
  it("keeps the area and the maximum, in at most 512 buckets", () => {
    fc.assert(
      fc.property(steps, (list) => {
        const { series, endMs, area, max } = run(list);
        const points = series.points(endMs);
        const widths = points.map((point, index) => (points[index + 1]?.atMs ?? endMs) - point.atMs);
        const total = points.reduce((sum, point, index) => sum + point.mean * widths[index]!, 0);
        expect(points.length).toBeLessThanOrEqual(512);
        expect(Math.abs(total - area)).toBeLessThan(1);
        expect(Math.max(0, ...points.map((point) => point.max))).toBeGreaterThanOrEqual(max);
      }),
    );
  });

  it("does not feel what happens to its fork", () => {
    fc.assert(
      fc.property(steps, (list) => {
        const { series, endMs } = run(list);
        const before = series.points(endMs);
        series.fork().set(endMs + 1_000_000_000, 7);
        expect(series.points(endMs)).toEqual(before);
      }),
    );
  });
});
