import { describe, expect, it } from "vitest";
import { usefulHour } from "../feeds/useful-hour.ts";
import { breakEven, costOf, crf, sensitivities, sff, tcoDocument, yearlyCosts, type OwnedOption } from "./tco.ts";

const document = tcoDocument.parse({
  kind: "tco",
  utilisation: 0.7,
  goodput: 0.9,
  options: [
    {
      name: "own",
      source: "owned",
      accelerators: 64,
      capex: 2_400_000,
      rate: 0.08,
      years: 4,
      salvage: 0.1,
      powerKw: 81.6,
      pue: 1.3,
      perKwh: 0.11,
      coloPerKwMonth: 120,
      networkAndStoragePerYear: 90_000,
      staffPerYear: 220_000,
      sparesPerYear: 30_000,
      repairsPerYear: 24_000,
      availability: 0.98,
      allocatable: 0.95,
    },
    { name: "lease", source: "leased", accelerators: 64, perHour: 1.9 },
    { name: "rent", source: "rented", perHour: 2.75 },
  ],
});
const [own, lease, rent] = document.options;
if (own?.source !== "owned" || lease === undefined || rent === undefined) throw new Error("three options");
const cents = (amount: number): number => Math.round(amount * 100) / 100;

describe("total cost of ownership", () => {
  it("agrees with the closed formulas to the cent", () => {
    // (1.08)^4 = 1.36048896; both factors by hand.
    expect(crf(0.08, 4)).toBeCloseTo((0.08 * 1.360_488_96) / 0.360_488_96, 12);
    expect(sff(0.08, 4)).toBeCloseTo(0.08 / 0.360_488_96, 12);
    expect([crf(0, 4), sff(0, 4)]).toEqual([0.25, 0.25]);
    expect(Object.values(yearlyCosts(own)).map(cents)).toEqual([
      cents(2_400_000 * (0.301_920_804_463_03 - 0.1 * 0.221_920_804_463_03)),
      cents(81.6 * 1.3 * 0.11 * 8_760),
      cents(120 * 12 * 81.6),
      90_000,
      220_000,
      30_000,
      24_000,
      0,
    ]);
    const answer = costOf(own, 0.7, 0.9);
    const hours = 64 * 8_760 * 0.98 * 0.95 * 0.7;
    expect(cents(answer.usdPerHour)).toBe(cents(answer.usdPerYear / hours));
    expect(cents(answer.usdPerYear)).toBe(1_255_071.63);
    expect(cents(answer.usdPerHour)).toBe(3.44);
    expect(answer.usdPerUsefulHour).toBeCloseTo(answer.usdPerHour / 0.9, 12);
  });

  it("breaks even where both cost the same", () => {
    for (const paid of [own, lease]) {
      const at = breakEven(paid, rent);
      expect(costOf(paid, at, 1).usdPerHour).toBeCloseTo(costOf(rent, at, 1).usdPerHour, 10);
    }
    expect(breakEven(lease, rent)).toBeCloseTo(1.9 / 2.75, 12);
  });

  it("names the assumptions with the largest effect first", () => {
    const all = sensitivities(own satisfies OwnedOption, 0.7);
    const spans = all.map(({ low, high }) => Math.abs(high - low));
    expect(spans).toEqual(spans.toSorted((left, right) => right - left));
    expect(all.map(({ field }) => field)).toEqual(expect.arrayContaining(["capex", "utilisation", "years"]));
  });
});

describe("a useful hour", () => {
  const conditions = {
    perHour: 2,
    hazardPerHour: 0.1,
    checkpointHours: 0.05,
    restartHours: 0.2,
    speed: 1,
    egressUsd: 0,
    workHours: 100,
    accelerators: 8,
  };

  it("costs more with interruptions, less speed and egress; checkpoints follow Young's interval", () => {
    const { checkpointEveryHours, usefulPart, usdPerUsefulHour } = usefulHour(conditions);
    expect(checkpointEveryHours).toBeCloseTo(1, 12);
    expect(usefulPart).toBeCloseTo((1 / 1.05) * (1 - 0.1 * 0.7), 12);
    expect(usdPerUsefulHour).toBeCloseTo(2 / usefulPart, 12);
    expect(usefulHour({ ...conditions, hazardPerHour: 0 }).usdPerUsefulHour).toBe(2);
    expect(usefulHour({ ...conditions, hazardPerHour: 0, speed: 0.5, egressUsd: 800 }).usdPerUsefulHour).toBe(5);
    expect(usefulHour({ ...conditions, hazardPerHour: 50 }).usdPerUsefulHour).toBe(Number.POSITIVE_INFINITY);
  });

  it("has the interval with the largest useful part", () => {
    const part = (every: number): number => (every / (every + 0.05)) * (1 - 0.1 * (every / 2 + 0.2));
    const { usefulPart } = usefulHour(conditions);
    for (const every of [0.25, 0.5, 2, 4]) expect(part(every)).toBeLessThan(usefulPart);
  });
});
