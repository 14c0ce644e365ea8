import { describe, expect, it } from "vitest";
import { forecastCeilings, readCeilingDocument, type CeilingReport } from "./ceilings.ts";

function report(axes: readonly object[], demand: object = { p50: { "2027-01": 100, "2029-12": 450 } }): CeilingReport {
  const document = { kind: "ceilings", start: "2027-01", months: 36, demand: { train: demand }, axes };
  const reading = readCeilingDocument(document);
  if (reading.kind === "refused") throw new Error(JSON.stringify(reading.problems));
  return forecastCeilings(reading.document);
}

describe("ceilings", () => {
  it("say which axis binds first, when, and by when an extension must be ordered", () => {
    const { first, axes } = report([
      { name: "power", unit: "kW", capacity: 400, perAccelerator: 1.6, leadTime: "26w" },
      { name: "fabricPorts", capacity: 256, perAccelerator: 1 },
      { name: "licences", capacity: 1000, perAccelerator: 1 },
    ]);
    // Demand is 100 accelerators and 10 more each month: 1.6 kW × 260 are above 400 kW in month 16.
    expect(first).toEqual({ axis: "power", month: "2028-05", probability: 1 });
    expect(axes.map(({ axis, bindsP50, probability }) => [axis, bindsP50, probability])).toEqual([
      ["power", "2028-05", 1],
      ["fabricPorts", "2028-05", 1],
      ["licences", null, 0],
    ]);
    expect(axes[0]!.orderBy).toBe("2027-11");
  });

  it("give probabilities if demand is uncertain", () => {
    const { axes } = report([{ name: "rackSpace", capacity: 150, perAccelerator: 1 }], { p50: [100], p95: [150] });
    expect(axes[0]!.bindsP50).toBeNull();
    expect(axes[0]!.probability).toBeGreaterThan(0.05);
    expect(axes[0]!.probability).toBeLessThan(0.3);
  });

  it("follow extensions, fixed use that grows, and use that grows faster or slower than demand", () => {
    const steps = [{ from: "2028-01", capacity: 2000 }];
    const { axes } = report([
      { name: "storageCapacity", unit: "TB", capacity: 900, fixed: 500, growthPctPerMonth: 3, steps },
      { name: "storageConcurrency", capacity: 1500, perAccelerator: 1, exponent: 1.3 },
      { name: "onCall", unit: "people", capacity: 6, perAccelerator: 0.25, exponent: 0.5 },
    ]);
    const binds = Object.fromEntries(axes.map(({ axis, bindsP50 }) => [axis, bindsP50]));
    expect(binds).toEqual({ storageCapacity: null, storageConcurrency: "2028-07", onCall: null });
  });
});
