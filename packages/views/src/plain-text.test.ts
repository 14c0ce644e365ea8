import { describe, expect, it } from "vitest";
import { metricText } from "./plain-text.ts";

describe("amounts", () => {
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
