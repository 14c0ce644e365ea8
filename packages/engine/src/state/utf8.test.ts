import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Decode, utf8Encode } from "./utf8.ts";

/** Any UTF-16 units: half surrogates alone, in pairs and in the wrong order. */
const anyText = fc
  .array(fc.oneof(fc.nat({ max: 0xffff }), fc.integer({ min: 0xd7f0, max: 0xe010 }), fc.nat({ max: 127 })))
  .map((units) => String.fromCharCode(...units));

describe("UTF-8", () => {
  it("is written as TextEncoder writes it", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect([...utf8Encode(text)]).toEqual([...new TextEncoder().encode(text)]);
      }),
      { numRuns: 500 },
    );
  });

  it("is read as TextDecoder reads it, wherever it is well formed", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const bytes = new TextEncoder().encode(text);
        expect(utf8Decode(bytes)).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
      }),
      { numRuns: 500 },
    );
  });

  it.each([0, 1, 1023, 1024, 1025, 8191, 8192, 8193, 100_000])("comes back whole at a length of %i", (length) => {
    for (const letter of ["a", "é", "界", "\u{1f600}"]) {
      const text = letter.repeat(length);
      expect(utf8Decode(utf8Encode(text)) === text).toBe(true);
    }
  });

  it("does not lose its way in bytes that are no UTF-8", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        // One malformed lead byte can at most stand for a surrogate pair.
        expect(utf8Decode(bytes).length).toBeLessThanOrEqual(2 * bytes.length);
      }),
    );
    expect(utf8Decode(Uint8Array.of(0x80, 0x61))).toBe("\ufffda");
  });
});
