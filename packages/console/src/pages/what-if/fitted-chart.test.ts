import { expect, it } from "vitest";
import { fittedChart } from "./fitted-chart.ts";

it("ends a chart a little behind the last change", () => {
  const values = Array.from({ length: 25 }, (_, index) => (index < 4 ? index : 4));
  const { atMs, series } = fittedChart([{ name: "a", tone: "run", kind: "line", values }], { fromMs: 0, toMs: 24_000 });
  expect(atMs).toEqual([0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]);
  expect(series[0]?.values).toEqual([0, 1, 2, 3, 4, 4, 4, 4]);
  const moving = Array.from({ length: 25 }, (_, index) => index);
  expect(
    fittedChart([{ name: "a", tone: "run", kind: "line", values: moving }], { fromMs: 0, toMs: 24_000 }).atMs.length,
  ).toBe(25);
});
