import { expect, it } from "vitest";
import { spentText } from "./budget-text.ts";

it("writes amounts to the cent and the tenth, and those that would round to nothing with more digits", () => {
  expect([96_310_000, 12_000_000_000, 10_000, 128.333, 100, 0.2, 0].map((each) => spentText("money", each))).toEqual([
    "$96.31",
    "$12,000",
    "$0.01",
    "$0.000128",
    "$0.0001",
    "$0.000001",
    "$0",
  ]);
  expect([1204.5, 12, 0.04, 0.000_01, 0].map((each) => spentText("gpuHours", each))).toEqual([
    "1,204.5 GPU-hours",
    "12 GPU-hours",
    "0.04 GPU-hours",
    "0.0001 GPU-hours",
    "0 GPU-hours",
  ]);
});
