import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as quantities from "./quantities.ts";
import type { Range } from "./quantities.ts";
import type { Reading } from "./reading.ts";

const wide: Range = { min: 0, max: Number.MAX_SAFE_INTEGER };

function valueOf(reading: Reading<number>): number | string {
  return reading.ok ? reading.value : `refused: ${reading.message}`;
}

describe("durations", () => {
  it.each([
    ["0s", 0],
    ["500ms", 500],
    ["90s", 90_000],
    ["12h", 43_200_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["2w1d", 1_296_000_000],
    [" 10m ", 600_000],
    ["0.5s", 500],
  ])("reads %s as %i ms", (text, ms) => {
    expect(valueOf(quantities.readDuration(text, wide))).toBe(ms);
  });

  it.each([
    "",
    "h",
    "1",
    "-1s",
    "1h1h",
    "30m1h",
    "1 h",
    "1e3s",
    "0.0001s",
    "1H",
    "١h",
    "1h ",
    "Infinity",
    "NaN",
    "1m30",
  ])("refuses %j unless it is only padded", (text) => {
    const reading = quantities.readDuration(text, wide);
    expect(reading.ok).toBe(text === "1h ");
  });

  it("says which unit is missing and which amounts are allowed", () => {
    expect(valueOf(quantities.readDuration(60, wide))).toMatch(/^refused: needs a unit: .*1h30m.*got 60$/);
    expect(valueOf(quantities.readDuration("400d", { min: 1, max: 86_400_000 }))).toBe(
      'refused: must be between 1ms and 1d, got "400d"',
    );
  });
});

describe("memory", () => {
  it.each([
    ["512MiB", 512],
    ["900GiB", 921_600],
    ["1.5GiB", 1_536],
    ["2 TiB", 2_097_152],
    ["0MiB", 0],
  ])("reads %s as %i MiB", (text, mib) => {
    expect(valueOf(quantities.readMemory(text, wide))).toBe(mib);
  });

  it.each(["", "GiB", "1GB", "1G", "1Gi", "900 gib", "1.0001MiB", "-1GiB", "1e3MiB", "512"])("refuses %j", (text) => {
    expect(quantities.readMemory(text, wide).ok).toBe(false);
  });

  it("tells users of other spellings which one is meant", () => {
    expect(valueOf(quantities.readMemory("900Gi", wide))).toContain("did you mean GiB?");
    expect(valueOf(quantities.readMemory("512M", wide))).toContain("did you mean MiB?");
  });
});

describe("cores and prices", () => {
  it.each([
    [4, 4_000],
    [0.5, 500],
    [0.001, 1],
    ["0.25", 250],
  ])("reads %s cores as %i thousandths", (value, milli) => {
    expect(valueOf(quantities.readCores(value, wide))).toBe(milli);
  });

  it.each([0.0005, -1, NaN, Infinity, 1e21, "1e3", "500m", null, [], true])("refuses %s cores", (value) => {
    expect(quantities.readCores(value, { min: 0, max: 1_000_000 }).ok).toBe(false);
  });

  it.each([
    ["2.10 USD/h", 2_100_000],
    ["0.000001 USD/h", 1],
    ["3USD/h", 3_000_000],
  ])("reads %s as %i micro-dollars", (text, amount) => {
    expect(valueOf(quantities.readPrice(text, wide))).toBe(amount);
  });

  it.each(["2.10", "2.10 EUR/h", "USD/h", "-1 USD/h", "0.0000001 USD/h", "2,10 USD/h", 2.1])("refuses %s", (value) => {
    expect(quantities.readPrice(value, wide).ok).toBe(false);
  });
});

describe("properties", () => {
  const amount = fc.oneof(fc.nat({ max: 100_000 }), fc.nat({ max: 2 ** 40 }));
  const pairs: readonly (readonly [
    string,
    (value: number) => unknown,
    (value: unknown, range: Range) => Reading<number>,
  ])[] = [
    ["duration", quantities.writeDuration, quantities.readDuration],
    ["memory", quantities.writeMemory, quantities.readMemory],
    ["cores", quantities.writeCores, quantities.readCores],
    ["price", quantities.writePrice, quantities.readPrice],
  ];

  it.each(pairs)("what is written of a %s reads back the same", (_, write, readBack) => {
    fc.assert(fc.property(amount, (value) => valueOf(readBack(write(value), wide)) === value));
  });

  it.each(pairs)("a %s is an integer within its range or refused, whatever is given", (_, __, readBack) => {
    const numeric = fc.stringMatching(/^[-+]?[0-9.e]{0,12} ?(ms|s|m|h|d|w|MiB|GiB|TiB|USD\/h)?$/);
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string(), numeric), (value) => {
        const reading = readBack(value, { min: 1, max: 1_000_000 });
        return !reading.ok || (Number.isSafeInteger(reading.value) && reading.value >= 1 && reading.value <= 1_000_000);
      }),
    );
  });
});
