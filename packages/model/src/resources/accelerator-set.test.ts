import { describe, expect, it } from "vitest";
import { acceleratorCount, acceleratorIndices, forEachRange } from "./accelerator-set.ts";

describe("accelerator sets", () => {
  it("contain every index of their ranges", () => {
    const ranges: string[] = [];
    forEachRange("0-3,6,30-31", (from, to) => ranges.push(`${from}-${to}`));
    expect(ranges).toEqual(["0-3", "6-6", "30-31"]);
    expect(acceleratorIndices("0-3,6,30-31")).toEqual([0, 1, 2, 3, 6, 30, 31]);
    expect(acceleratorCount("0-3,6,30-31")).toBe(7);
  });

  it("know no accelerators where there are none", () => {
    expect(acceleratorIndices("")).toEqual([]);
    expect(acceleratorCount("")).toBe(0);
    forEachRange("", () => expect.unreachable());
  });
});
