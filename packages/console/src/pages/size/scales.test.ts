import { describe, expect, it } from "vitest";
import { amountText, doublings, gibText, percentText, rounds, secondsText } from "./scales.ts";

describe("steps", () => {
  it("are round and in equal ratios", () => {
    expect(doublings(1, 20)).toEqual([1, 2, 4, 8, 16]);
    expect(rounds(0.5, 20)).toEqual([0.5, 1, 2, 5, 10, 20]);
    expect(rounds(1e9, 2e10)).toEqual([1e9, 2e9, 5e9, 1e10, 2e10]);
  });
});

describe("amounts", () => {
  it("are said as people say them", () => {
    expect([15e12, 8.03e9, 512, 9999, 0.1234].map(amountText)).toEqual(["15T", "8.03B", "512", "9999", "0.123"]);
    expect([0.0123, 1, 300, 40_000, 1e6].map(secondsText)).toEqual(["12.3 ms", "1 s", "5 min", "11.1 h", "11.6 days"]);
    expect([percentText(0.12345), gibText(2 ** 31)]).toEqual(["12.3%", "2 GiB"]);
  });
});
