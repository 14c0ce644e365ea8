import { describe, expect, it } from "vitest";
import { benchText, recordsIn } from "./bench-table.ts";

describe("what benchmarks print", () => {
  it("is read line by line, or over several lines, whatever stands between", () => {
    const output = `noise\n{"case":"a","ms":1}\n${JSON.stringify({ case: "b", ms: 2 }, null, 2)}\n`;
    expect(recordsIn(output)).toEqual([
      { case: "a", ms: 1 },
      { case: "b", ms: 2 },
    ]);
  });

  it("is a table for each run of records with the same fields", () => {
    const records = [
      { case: "a", p99_ms: 1.25, loop: { late_ms: 3 } },
      { case: "longer", p99_ms: 1234567, loop: { late_ms: 4 } },
      { case: "c", placed: 1, waits: [1, 2] },
    ];
    expect(benchText(records, 100)).toBe(
      "case       p99_ms  loop.late_ms\na            1.25             3\nlonger  1,234,567             4\n\ncase  placed  waits\nc          1  1, 2\n",
    );
  });

  it("shows lists of records below what they belong to, and wide tables on their side", () => {
    const text = benchText(
      [
        { machine: "m", results: [{ load: 1 }, { load: 2 }] },
        { a: "x".repeat(30), b: 2 },
      ],
      20,
    );
    expect(text).toBe(`machine\nm\n\nresults:\nload\n   1\n   2\n\na  ${"x".repeat(30)}\nb  2\n`);
  });
});
