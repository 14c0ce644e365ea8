import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonFault } from "./json-fault.ts";

const said = (text: string): string => {
  const fault = jsonFault(text);
  return fault === null ? "none" : `${fault.line}:${fault.column} ${fault.expected}`;
};

describe("the place where JSON breaks", () => {
  it.each([
    ["", "1:1 a value"],
    ['{"kind": "train",\n "name": }', "2:10 a value"],
    ['{"a": 1,\n}', '2:1 a name in "quotes"'],
    ["{'a': 1}", '1:2 a name in "quotes" or }'],
    ["{a: 1}", '1:2 a name in "quotes" or }'],
    ['{"a" 1}', "1:6 a colon"],
    ["[1 2]", "1:4 a comma or the closing bracket"],
    ["[1}", "1:3 a comma or the closing bracket"],
    ['{"a": [1, 2}', "1:12 a comma or the closing bracket"],
    ["[1,]", "1:4 a value"],
    ["{} {}", "1:4 the end of the text"],
    ['"a\nb"', "1:1 a value"],
    ['["\\x"]', "1:2 a value or ]"],
    ["01", "1:2 the end of the text"],
    ["NaN", "1:1 a value"],
    ["[true, nul]", "1:8 a value"],
    ['{"a": 1', "1:8 a comma or the closing bracket"],
  ])("of %j is %s", (text, expected) => {
    expect(said(text)).toBe(expected);
  });

  it("is found exactly where JSON.parse refuses, and nowhere else", () => {
    const mutated = fc
      .tuple(
        fc.json(),
        fc.nat(),
        fc.constantFrom("", "{", "}", "[", "]", ",", ":", '"', "0", "x", "\\", "\n", "-", "1e"),
      )
      .map(([text, place, insert]) => {
        const at = place % (text.length + 1);
        return text.slice(0, at) + insert + text.slice(insert === "" ? at + 1 : at);
      });
    fc.assert(
      fc.property(fc.oneof(fc.json(), mutated, fc.string()), (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(jsonFault(text) === null).toBe(isJson);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is found in a million brackets", () => {
    expect(said("[".repeat(1_000_000))).toBe("1:1000001 a value or ]");
  });
});
