import { describe, expect, it } from "vitest";
import { accelerators, findAccelerator } from "./accelerators.ts";
import { oversubscriptionAcross } from "./fabric.ts";
import { links } from "./links.ts";
import { usualCluster } from "./nodes.ts";
import { powerLimited } from "./power-limit.ts";
import { readCatalogueEntries } from "./user-entries.ts";

describe("the catalogue", () => {
  it("names every accelerator once, whatever the spelling", () => {
    const names = accelerators.flatMap(({ name, aliases }) => [name, ...aliases]);
    const plain = names.map((name) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, ""));
    expect(plain.length - new Set(plain).size).toBeLessThanOrEqual(accelerators.length);
    for (const { name, aliases } of accelerators) {
      for (const spelled of [name, name.toLowerCase(), ...aliases]) expect(findAccelerator(spelled)?.name).toBe(name);
    }
  });

  it("gives a source for each group of figures, and figures that hang together", () => {
    for (const one of accelerators) {
      for (const group of ["matrix", "memory", "scaleUp"] as const) expect(one.sources[group] ?? "").not.toBe("");
      const best = one.bestMatmulTflops?.bf16 ?? 0;
      expect([one.name, best <= (one.denseTflops.bf16 ?? 0)]).toEqual([one.name, true]);
      expect(one.memoryGbPerS / one.scaleUp.gbPerS).toBeGreaterThan(1);
    }
    expect(links.every(({ gbPerS, source }) => gbPerS > 0 && source !== "")).toBe(true);
  });

  it("lowers the clocks of the matrix units with the cube root of a power limit, and no memory rate", () => {
    const h100 = findAccelerator("H100");
    if (h100 === undefined) throw new Error("no H100");
    const half = powerLimited(h100, 350);
    expect((half.denseTflops.bf16 ?? 0) / (h100.denseTflops.bf16 ?? 1)).toBeCloseTo(0.794, 3);
    expect((half.bestMatmulTflops?.bf16 ?? 0) / (h100.bestMatmulTflops?.bf16 ?? 1)).toBeCloseTo(0.794, 3);
    expect([half.memoryGbPerS, half.powerWatts]).toEqual([h100.memoryGbPerS, 350]);
    expect(powerLimited(h100, 900)).toBe(h100);
  });

  it("puts accelerators into the servers they are sold in", () => {
    const h100 = findAccelerator("H100") ?? accelerators[0];
    if (h100 === undefined) throw new Error("no H100");
    const { node, nodeCount } = usualCluster(h100, 512);
    expect([node.acceleratorCount, node.scaleOutGbPerS, nodeCount]).toEqual([8, 400, 64]);
    expect(usualCluster(h100, 2).node.acceleratorCount).toBe(2);
  });
});

describe("entries of a user", () => {
  const entry = {
    name: "X1",
    vendor: "Example",
    year: 2026,
    denseTflops: { bf16: 500, fp8: 1000 },
    memoryGib: 96,
    memoryGbPerS: 4000,
    scaleUp: { kind: "mesh", name: "XLink", gbPerS: 300, domainCount: 8 },
    scaleOutGbPerS: 50,
    source: "datasheet X1, 2026",
  };

  it("become accelerators and fabrics", () => {
    const fabric = {
      name: "pods",
      kind: "fat-tree",
      tiers: [
        { name: "pod", nodeCount: 32, oversubscription: 7 },
        { name: "spine", nodeCount: 4096, oversubscription: 1 },
      ],
      source: "our network plan",
    };
    const chip = { halfFormat: "fp16", architecture: "X", computeUnits: 144, powerWatts: 900 };
    const reading = readCatalogueEntries({ accelerators: [{ ...entry, ...chip }], fabrics: [fabric] });
    expect(reading.kind).toBe("entries");
    if (reading.kind !== "entries") return;
    expect(findAccelerator("x1", reading.accelerators)?.denseTflops).toEqual({ bf16: 500, fp8: 1000 });
    expect(findAccelerator("x1", reading.accelerators)).toMatchObject(chip);
    const [pods] = reading.fabrics;
    if (pods === undefined) throw new Error("no fabric");
    expect([8, 32, 33, 4096].map((nodes) => oversubscriptionAcross(pods, nodes))).toEqual([1, 1, 7, 7]);
  });

  it("are refused with everything that is wrong with them", () => {
    const broken = {
      ...entry,
      halfFormat: "tf32",
      memoryGib: 0,
      speed: 9,
      denseTflops: { fp8: -1 },
      scaleUp: { kind: "wire" },
    };
    const reading = readCatalogueEntries({ accelerators: [broken], fabrics: {} });
    expect(reading).toEqual({
      kind: "refused",
      problems: [
        "accelerators[0].speed is unknown; there are name, vendor, year, denseTflops, bestMatmulTflops, memoryGib, memoryGbPerS, scaleUp, scaleOutGbPerS, halfFormat, powerWatts, architecture, computeUnits, matrixUnitWidth, source",
        "accelerators[0].denseTflops.fp8 must be a positive number, not -1",
        "accelerators[0].denseTflops.bf16 must be given",
        'accelerators[0].halfFormat must be bf16 or fp16, not "tf32"',
        "accelerators[0].memoryGib must be a positive number, not 0",
        "accelerators[0].scaleUp.kind must be one of switched, mesh, torus, pcie",
        "accelerators[0].scaleUp.name must be a text, not undefined",
        "accelerators[0].scaleUp.gbPerS must be a positive number, not undefined",
        "accelerators[0].scaleUp.domainCount must be a positive number, not undefined",
        "fabrics must be a list of entries",
      ],
    });
    expect(readCatalogueEntries("nonsense").kind).toBe("refused");
  });
});
