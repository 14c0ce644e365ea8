import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonBytes, parseJsonBytes } from "./json-pieces.ts";
import { utf8Decode, utf8Encode } from "./utf8.ts";

const members = fc.dictionary(
  fc.string({ minLength: 1 }).filter((name) => name !== "__proto__"),
  fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue(), { maxLength: 40 })),
  { minKeys: 1 },
);

describe("JSON in pieces", () => {
  it("has the bytes of JSON.stringify, also for lists of several pieces", () => {
    const long = Array.from({ length: 10_000 }, (_, index) => ({ index, text: `"é]}${index}\\` }));
    const value = { none: undefined, short: [1, 2], long, empty: [], name: "a,b", last: long.slice(0, 4097) };
    expect(utf8Decode(jsonBytes(value))).toBe(JSON.stringify(value));
    fc.assert(
      fc.property(members, (each) => {
        expect(utf8Decode(jsonBytes(each))).toBe(JSON.stringify(each));
      }),
    );
  });

  it("is read back, whatever the size of the pieces", () => {
    fc.assert(
      fc.property(members, fc.nat({ max: 60 }), (each, pieceBytes) => {
        const text = JSON.stringify(each);
        expect(parseJsonBytes(utf8Encode(text), pieceBytes)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it.each(["", "[]", "{}", '{"a":[1,2', '{"a":[1,2]', '{"a":"b', '{"a":[1,]}', '{"a":1}}', '{"a" :1}', '{"a":[1 2}}'])(
    "refuses %j",
    (text) => expect(() => parseJsonBytes(utf8Encode(text), 1)).toThrow(SyntaxError),
  );
});
