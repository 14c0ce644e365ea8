import { describe, expect, it } from "vitest";
import { findAccelerator } from "../catalogue/accelerators.ts";
import { designCluster, usualClusterSettings, type ClusterDemand } from "./cluster.ts";

const demand: ClusterDemand = {
  accelerator: findAccelerator("H100")!,
  acceleratorCount: 235,
  medianCount: 120,
  kwPerAccelerator: 1.26,
  active: { capacityTb: 80, readGbPerS: 16, writeGbPerS: 40, clients: 300 },
  keptTb: 400,
  prices: { acceleratorUsd: 30_000, flashUsdPerTb: 200, diskUsdPerTb: 30, usdPerKwh: 0.1 },
  settings: usualClusterSettings,
};

function designed(change: Partial<ClusterDemand> = {}): Extract<ReturnType<typeof designCluster>, { kind: "cluster" }> {
  const design = designCluster({ ...demand, ...change });
  if (design.kind !== "cluster") throw new Error(design.reason);
  return design;
}

describe("the design of a cluster", () => {
  it("has nodes with spares, a fabric for all of them, storage as bought, power and price", () => {
    const { nodes, fabric, storage, power, cost } = designed();
    // 235 of 0.92 of the accelerators: 256 in 32 nodes of 8.
    expect([nodes.work, nodes.total, nodes.accelerators]).toEqual([32, 32 + nodes.spare, 8 * nodes.total]);
    expect(nodes.spare).toBeGreaterThanOrEqual(2);
    // Two levels of 64 ports: every node has a port on each of eight rails.
    expect(fabric.levels.map(({ name }) => name)).toEqual(["leaf", "spine"]);
    expect(fabric.levels[0]!.cablesDown).toBe(8 * nodes.total);
    expect(storage).toMatchObject([
      { tier: "flash", capacityTb: 100, readGbPerS: 20, writeGbPerS: 50 },
      { tier: "capacity", capacityTb: 500 },
    ]);
    expect(power.facilityKw).toBeCloseTo(nodes.accelerators * 1.26 * 1.3, 6);
    // Four nodes of 10.1 kW in a rack of 44 kW.
    expect(power.racks).toBe(Math.ceil(nodes.total / 4));
    expect(cost!.totalUsd).toBeCloseTo(nodes.accelerators * 30_000 * 1.2 + 100 * 200 + 500 * 30, 6);
  });

  it("names its assumptions and risks", () => {
    const { risks, assumptions } = designed();
    expect(risks).toContainEqual(expect.stringContaining("demand is uncertain"));
    expect(assumptions).toContainEqual(expect.stringContaining("PUE 1.3"));
    expect(designed({ medianCount: 230 }).risks).not.toContainEqual(expect.stringContaining("uncertain"));
    expect(designed({ acceleratorCount: 1024 }).risks).toContainEqual(expect.stringContaining("may need a new feed"));
    expect(designed({ prices: undefined }).cost).toBeUndefined();
    expect(designCluster({ ...demand, acceleratorCount: 0 }).kind).toBe("impossible");
  });
});
