import { describe, expect, it } from "vitest";
import { acceleratorTimeText, metricText } from "./plain-text.ts";

describe("amounts", () => {
  it("writes accelerator time in the unit that is not below one", () => {
    expect([0, 40, 12_300, 67_728, 3_600_000, 4_336_200_000].map(acceleratorTimeText)).toEqual([
      "0 accelerator hours",
      "0.1 accelerator seconds",
      "12.3 accelerator seconds",
      "1.1 accelerator minutes",
      "1 accelerator hours",
      "1,204.5 accelerator hours",
    ]);
  });

  it("keeps metrics short whatever their size", () => {
    expect([12_345.6, 2.31415, 0.5, 0, 0.000012, Number.NaN].map(metricText)).toEqual([
      "12,346",
      "2.314",
      "0.5",
      "0",
      "1.20e-5",
      "NaN",
    ]);
  });
});
