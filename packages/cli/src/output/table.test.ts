import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryText, shortDuration } from "./amounts.ts";
import { painter } from "./style.ts";
import { tableLines } from "./table.ts";
import { displayWidth } from "./width.ts";

const plain = painter({ isTerminal: false, columns: undefined, write: () => {}, drained: () => Promise.resolve() }, {});
const columns = [
  { title: "NAME", minWidth: 4 },
  { title: "N", align: "right" as const },
  { title: "WHY", minWidth: 4 },
];

describe("tables", () => {
  it("align, and narrow the widest column that may be narrowed", () => {
    const rows = [
      ["a", "1", "because of a long story"],
      ["longer-name", "22", "short"],
    ];
    expect(tableLines(columns, rows, { columns: undefined }, plain)).toEqual([
      "NAME          N  WHY",
      "a             1  because of a long story",
      "longer-name  22  short",
    ]);
    expect(tableLines(columns, rows, { columns: 24 }, plain)).toEqual([
      "NAME        N  WHY",
      "a           1  because …",
      "longer-n…  22  short",
    ]);
  });

  it("fit into any terminal wide enough for the least widths, whatever is in them", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 40 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, fc.nat({ max: 99 }).map(String), text)),
        fc.integer({ min: 16, max: 120 }),
        (rows, width) => {
          const lines = tableLines(columns, rows, { columns: width }, plain);
          return (
            lines.length === rows.length + 1 &&
            lines.every((line) => displayWidth(line) <= width && !/\p{Cc}/u.test(line))
          );
        },
      ),
    );
  });
});

describe("amounts", () => {
  it.each<[number, string]>([
    [-5, "0s"],
    [999, "0s"],
    [59_000, "59s"],
    [60_000, "1m"],
    [5_405_000, "1h30m"],
    [3_600_000 + 59_000, "1h"],
    [90_061_000, "1d1h"],
  ])("%i ms are %s", (ms, text) => {
    expect(shortDuration(ms)).toBe(text);
  });

  it.each<[number, string]>([
    [0, "0 MiB"],
    [1_024, "1 GiB"],
    [24_064, "23.5 GiB"],
    [2_097_152, "2 TiB"],
  ])("%i MiB are %s", (mib, text) => {
    expect(memoryText(mib)).toBe(text);
  });
});
