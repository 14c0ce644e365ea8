import { expect, it } from "vitest";
import type { TimeSeries } from "../../parts/time-chart.tsx";
import { fittedCharts } from "./fitted-chart.ts";

const HOURS = 24;
const range = { fromMs: 0, toMs: 24_000 };

/** Samples that change every second until `untilS` and stay the same afterwards. */
const chart = (untilS: number): readonly TimeSeries[] => [
  {
    name: "a",
    tone: "run",
    kind: "line",
    values: Array.from({ length: HOURS + 1 }, (_, index) => Math.min(index, untilS)),
  },
];

it("ends a chart a little behind the last change", () => {
  const [fitted] = fittedCharts([chart(4)], range);
  expect(fitted?.atMs).toEqual([0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]);
  expect(fitted?.series[0]?.values).toEqual([0, 1, 2, 3, 4, 4, 4, 4]);
  expect(fittedCharts([chart(HOURS)], range)[0]?.atMs).toHaveLength(25);
});

it("ends charts that are read together at the same time", () => {
  expect(fittedCharts([chart(4), chart(9)], range).map(({ atMs }) => atMs.at(-1))).toEqual([12_000, 12_000]);
});

it("reaches beyond the last start that moves, and no further than the forecast", () => {
  expect(fittedCharts([chart(4)], { ...range, leastUntilMs: 9_500 })[0]?.atMs.at(-1)).toBe(14_000);
  expect(fittedCharts([chart(4)], { ...range, leastUntilMs: 24_000 })[0]?.atMs.at(-1)).toBe(24_000);
});
