import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, compareText } from "./canonical.ts";

/** The same value with the fields of every object in reverse order. */
function turnedOver(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turnedOver);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).toReversed();
  return Object.fromEntries(fields.map(([key, field]) => [key, turnedOver(field)]));
}

const values = fc.jsonValue({ maxDepth: 4 });

describe("canonicalJson", () => {
  it("is JSON of the same value", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("does not depend on the order of fields", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(canonicalJson(turnedOver(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it("tells different values apart, also in the order of an array", () => {
    const texts = [[1, 2], [2, 1], { a: 1 }, { a: 2 }, { b: 1 }, {}, [], null, "", "null", 0, false].map(canonicalJson);
    expect(new Set(texts).size).toBe(texts.length);
  });

  it("writes maps as entries in the order of their keys", () => {
    const forwards = new Map<string, unknown>([
      ["b", { y: 1, x: 2 }],
      ["a", 1],
    ]);
    expect(canonicalJson(forwards)).toBe('[["a",1],["b",{"x":2,"y":1}]]');
    expect(canonicalJson(new Map([...forwards].toReversed()))).toBe(canonicalJson(forwards));
  });
});

describe("compareText", () => {
  it("orders as the language sorts text by itself: by UTF-16 units", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (texts) => {
        expect(texts.toSorted(compareText)).toEqual(texts.toSorted());
      }),
    );
  });
});
