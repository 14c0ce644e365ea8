import { describe, expect, it } from "vitest";
import { SERIES_POINTS_MAX, Series, pointsBetween } from "./series.ts";

const DAY_MS = 86_400_000;

/** Adds a report every two seconds, for the given time. */
function reported(forMs: number): Series {
  const series = new Series();
  for (let atMs = 0; atMs < forMs; atMs += 2_000) series.add(atMs, atMs / 2_000, { loss: atMs / 1_000 });
  return series;
}

describe("a series", () => {
  it("keeps a short run as it was reported", () => {
    const points = reported(100_000).points();
    expect(points).toHaveLength(50);
    expect(points[7]).toEqual({ atMs: 14_000, count: 1, step: 7, values: [14] });
  });

  it("covers an hour, the newest minutes report by report, and counts every report", () => {
    const points = reported(3_600_000).points();
    expect(points.length).toBeLessThan(240);
    expect(points.reduce((sum, { count }) => sum + count, 0)).toBe(1_800);
    expect(points.slice(-60).every(({ count }) => count === 1)).toBe(true);
    expect(points[0]?.atMs).toBeLessThan(200_000);
    expect(points.map(({ atMs }) => atMs)).toEqual(points.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
  });

  it("rolls up to means of what it merged", () => {
    const [first] = reported(3_600_000).points();
    // Reports 0 to `count - 1`, whose losses are 0, 2, 4, …
    expect(first?.values).toEqual([(first?.count ?? 0) - 1]);
    expect(first?.step).toBe((first?.count ?? 0) - 1);
  });

  it("is bounded whatever the length of the run", () => {
    const series = new Series();
    for (let atMs = 0; atMs < 400 * DAY_MS; atMs += 60_000) series.add(atMs, atMs, { loss: 1 });
    expect(series.points().length).toBeLessThanOrEqual(SERIES_POINTS_MAX);
    expect(series.points()[0]?.atMs).toBeGreaterThan(250 * DAY_MS);
  });

  it("stores a bounded number of names, and no value that is not a number", () => {
    const series = new Series();
    series.add(0, 0, Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`metric-${index}`, index])));
    series.add(2_000, 1, { "metric-0": Number.NaN });
    expect(series.names).toHaveLength(16);
    expect(series.points()[1]?.values[0]).toBeNull();
  });

  it("is the same after it was stored", () => {
    const series = reported(3_600_000);
    const again = new Series(JSON.parse(JSON.stringify(series.stored())) as ReturnType<Series["stored"]>);
    series.add(3_600_000, 1, { loss: 7, other: 1 });
    again.add(3_600_000, 1, { loss: 7, other: 1 });
    expect(again.points()).toEqual(series.points());
  });

  it("gives at most as many points of a span as are asked for", () => {
    const series = reported(3_600_000);
    const points = pointsBetween(series, { fromMs: 600_000, toMs: 3_000_000, max: 10 });
    expect(points.length).toBeLessThanOrEqual(10);
    expect(points[0]?.atMs).toBeGreaterThanOrEqual(600_000);
    expect(points.at(-1)?.atMs).toBeLessThanOrEqual(3_000_000);
  });
});
