import { describe, expect, it } from "vitest";
import type { Charge } from "../bill/charges.ts";
import { priceBook, priceDocument } from "../prices/price-documents.ts";
import type { PoolPrice } from "../prices/price-documents.ts";
import type { UsageRow } from "../rows/row.ts";
import { chargeEnergy } from "./charge-energy.ts";
import { PowerMeter } from "./power-meter.ts";
import type { PowerPoint } from "./power-meter.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A reading a minute of this power for the hour, apart from the minutes in between. */
const readings = (watts: number, gap: readonly [number, number] = [0, 0]): readonly PowerPoint[] =>
  Array.from({ length: 61 }, (_, minute) => ({
    atMs: minute * MINUTE_MS,
    readings: 1,
    milliwatts: watts * 1_000,
  })).filter(({ atMs }) => atMs <= gap[0] * MINUTE_MS || atMs >= gap[1] * MINUTE_MS);
const meterOf = (byIndex: readonly (readonly PowerPoint[] | null)[]): PowerMeter =>
  new PowerMeter((node, index) => (node === "n1" ? (byIndex[index] ?? null) : null));
const hour = { fromMs: 0, toMs: HOUR_MS };

describe("measured power", () => {
  it("is the mean over the accelerators and the covered time", () => {
    const meter = meterOf([readings(600), readings(200)]);
    expect(meter.mean("n1", "0-1", hour)).toEqual({ kilowatts: 0.4, covered: 1 });
    expect(meter.mean("n1", "1", { fromMs: 90_000, toMs: 150_000 })).toEqual({ kilowatts: 0.2, covered: 1 });
  });

  it("is unknown in gaps, on accelerators without readings, and where a source gives nonsense", () => {
    // From minute 10 to minute 40 nothing was read; the reading of minute 40 covers two minutes.
    expect(meterOf([readings(600, [10, 40])]).mean("n1", "0", hour).covered).toBeCloseTo(32 / 60, 9);
    expect(meterOf([readings(600), null]).mean("n1", "0-1", hour).covered).toBe(0.5);
    expect(meterOf([readings(60_000)]).mean("n1", "0", hour)).toEqual({ kilowatts: 0, covered: 0 });
    expect(meterOf([]).mean("n2", "0", hour)).toEqual({ kilowatts: 0, covered: 0 });
  });

  it("of points that were merged covers the time of their readings", () => {
    const merged = [{ atMs: HOUR_MS, readings: 240, milliwatts: 500_000 }];
    expect(meterOf([merged]).mean("n1", "0", hour)).toEqual({ kilowatts: 0.5, covered: 1 });
  });
});

const row: UsageRow = {
  fromMs: 0,
  toMs: HOUR_MS,
  milli: 2_000,
  state: "used",
  cause: "succeeded",
  team: "research",
  user: "ann",
  workloadId: "w1",
  workload: "run",
  workloadKind: "train",
  attemptId: "w1.1",
  site: "here",
  pool: "h100",
  node: "n1",
  acceleratorType: "H100",
  accelerators: "0-1",
  correctedAtMs: null,
};
function priceOf(component: object): PoolPrice {
  const common = { kind: "price", name: "own", pool: "h100", provider: "we", from: "1970-01-01", source: "owned" };
  const book = priceBook([priceDocument.parse({ ...common, accelerators: 8, components: [component] })]);
  const [price] = "problem" in book ? [] : (book.byPool.get("h100") ?? []);
  if (price === undefined) throw new Error("no price");
  return price;
}
const power = { name: "power", kilowatts: 8, hostKilowatts: 0.8, pue: 1.25, perKwh: 0.1, gramsPerKwh: 300 };
const charge = (own: Partial<Charge> = {}): Charge => ({
  hourMs: 0,
  fromMs: 0,
  toMs: HOUR_MS,
  row,
  price: priceOf(power),
  milliMs: 2_000 * HOUR_MS,
  microUsd: 0,
  ...own,
});

describe("the energy of a charge", () => {
  it("is measured where readings exist, with its part of the host and the PUE, and stated for the rest", () => {
    const measured = chargeEnergy(charge(), meterOf([readings(600), readings(200)]));
    // Two accelerators at 0.4 kW and 0.1 kW of the host each.
    expect(measured.kwh).toBeCloseTo(2 * 0.5 * 1.25, 9);
    expect(measured.measuredKwh).toBe(measured.kwh);
    expect([measured.grams, measured.microUsd]).toEqual([measured.kwh * 300, measured.kwh * 100_000]);
    const half = chargeEnergy(charge(), meterOf([readings(600), null]));
    expect(half.kwh).toBeCloseTo(0.7 * 1.25 + 1.25, 9);
    expect(half.measuredKwh).toBeCloseTo(0.7 * 1.25, 9);
    const stated = chargeEnergy(charge(), null);
    expect([stated.kwh, stated.measuredKwh]).toEqual([2.5, 0]);
  });

  it("of a part of an accelerator is its part, and a correction takes it back", () => {
    const meter = meterOf([readings(600)]);
    const part = { ...row, milli: 500, accelerators: "0" };
    const own = chargeEnergy(charge({ row: part, milliMs: 500 * HOUR_MS }), meter);
    expect(own.kwh).toBeCloseTo(0.5 * 0.7 * 1.25, 9);
    const taken = chargeEnergy(charge({ row: { ...part, milli: -500 }, milliMs: -500 * HOUR_MS }), meter);
    expect(taken.kwh).toBe(-own.kwh);
  });

  it("has the carbon of the hour where the grid's intensity is a series", () => {
    const hourly = [
      { from: "1970-01-01", hourly: [100, 200] },
      { from: "1970-01-02", hourly: [300] },
    ];
    const gramsOf = (hours: number): number => {
      const own = charge({ price: priceOf({ ...power, gramsPerKwh: hourly }), fromMs: hours * HOUR_MS });
      return Math.round(chargeEnergy(own, null).grams / chargeEnergy(own, null).kwh);
    };
    expect([-1, 0, 1, 2, 23, 24, 99].map(gramsOf)).toEqual([100, 100, 200, 200, 200, 300, 300]);
    expect(() => priceOf({ ...power, gramsPerKwh: [{ from: "1970-01-01", hourly: [-1] }] })).toThrow("gramsPerKwh");
  });

  it("refuses a host that takes more than the whole", () => {
    expect(() => priceOf({ ...power, hostKilowatts: 9 })).toThrow("hostKilowatts is a part of kilowatts");
  });
});
