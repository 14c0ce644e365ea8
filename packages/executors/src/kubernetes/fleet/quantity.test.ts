import { describe, expect, it } from "vitest";
import { coresMilliOf, countOf, memoryMibOf, quantityOf } from "./quantity.ts";

describe("quantities of Kubernetes", () => {
  it.for([
    ["8", 8],
    ["500m", 0.5],
    ["1e3", 1_000],
    ["64Gi", 64 * 2 ** 30],
    ["1.5k", 1_500],
    [".5", 0.5],
    ["", null],
    ["5Q", null],
    ["x", null],
  ] as const)("reads %s as %s", ([text, amount]) => {
    expect(quantityOf(text)).toBe(amount);
  });

  it("counts whole devices, thousandths of cores and MiB, and nothing for what it cannot read", () => {
    expect([countOf("7"), countOf("7500m"), countOf("-1"), countOf("many"), countOf(undefined)]).toEqual([
      7, 7, 0, 0, 0,
    ]);
    expect([coresMilliOf("0.1"), coresMilliOf("63500m"), coresMilliOf("2")]).toEqual([100, 63_500, 2_000]);
    expect([memoryMibOf("1Gi"), memoryMibOf("1048576"), memoryMibOf("515899392Ki")]).toEqual([1_024, 1, 503_808]);
  });
});
