import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { INSTANT_MS_MAX, readInstant, writeInstant } from "./instants.ts";

const valueOf = (text: unknown): number | string => {
  const reading = readInstant(text);
  return reading.ok ? reading.value : reading.message;
};

describe("instants", () => {
  it("are read and written as the platform's own calendar has them", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: INSTANT_MS_MAX }), (instantMs) => {
        const text = writeInstant(instantMs);
        expect(Date.parse(text)).toBe(instantMs);
        expect(valueOf(text)).toBe(instantMs);
      }),
    );
  });

  it("mean the same at every offset, whole days and seconds left out", () => {
    const noon = Date.UTC(2028, 1, 29, 12);
    for (const text of [
      "2028-02-29T12:00:00Z",
      "2028-02-29T12:00Z",
      "2028-02-29t17:30+05:30",
      "2028-02-29 01:00-11:00",
    ]) {
      expect(valueOf(text)).toBe(noon);
    }
    expect(valueOf("2028-02-29T12:00:00.5Z")).toBe(noon + 500);
  });

  it.each([
    "2027-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2027-13-01T00:00:00Z",
    "2027-00-10T00:00:00Z",
    "2027-04-31T00:00:00Z",
    "2027-01-01T24:00:00Z",
    "2027-01-01T00:00:60Z",
    "1969-12-31T23:59:59Z",
    "2027-01-01T00:00:00",
    "2027-01-01",
    "tomorrow",
    1_803_884_400_000,
    null,
  ])("refuses %j", (text) => {
    expect(typeof valueOf(text)).toBe("string");
  });
});
