import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLines, sharedData } from "../../../../tools/shared-data.ts";
import { fabricCounts, fabricOf, fabricRequest } from "./fabric-counts.ts";
import type { FabricCounts, FabricRequest } from "./fabric-request.ts";

function counts(given: Partial<FabricRequest> & Pick<FabricRequest, "nodeCount">): FabricCounts {
  const answer = fabricCounts(fabricRequest(given));
  if (answer.kind !== "counts") throw new Error(answer.reason);
  return answer;
}

/** Numbers of switches by level, then numbers of cables by level, for example `16/8 512+512`. */
function brief(answer: FabricCounts): string {
  const switches = answer.levels.map((level) => level.switchCount).join("/");
  return `${switches} ${answer.levels.map((level) => level.cablesDown).join("+")}`;
}

describe("published designs", () => {
  // Source: docs.nvidia.com, DGX SuperPOD scalable infrastructure B200, larger component counts.
  it("DGX SuperPOD B200: 64-port switches, 8 ports of 400 Gbit/s per node", () => {
    expect([64, 128, 256, 512, 1024, 2048].map((nodeCount) => `${nodeCount}: ${brief(counts({ nodeCount }))}`)).toEqual(
      [
        "64: 16/8 512+512",
        "128: 32/16 1024+1024",
        "256: 64/32 2048+2048",
        "512: 128/128/64 4096+4096+4096",
        "1024: 256/256/128 8192+8192+8192",
        "2048: 512/512/256 16384+16384+16384",
      ],
    );
  });

  // Source: docs.nvidia.com, scalable infrastructure B300 XDR, table 3. The design has 18 and 36 spines instead of 16
  // and 32, so that links spread evenly.
  it("DGX SuperPOD B300 XDR: 144-port switches", () => {
    const of = (nodeCount: number): string => brief(counts({ nodeCount, switchPorts: 144, portGbps: 800 }));
    expect([72, 144, 288, 576, 1296].map((nodeCount) => `${nodeCount}: ${of(nodeCount)}`)).toEqual([
      "72: 8/4 576+576",
      "144: 16/8 1152+1152",
      "288: 32/18 2304+2304",
      "576: 64/36 4608+4608",
      "1296: 144/72 10368+10368",
    ]);
  });

  // Source: docs.nvidia.com, scalable infrastructure B300, table 3. The design has two planes. Its switches have 64
  // ports of 800 Gbit/s, which are used as 128 ports of 400 Gbit/s. The table counts one cable for two links.
  it("DGX SuperPOD B300 over Ethernet in two planes", () => {
    const of = (nodeCount: number): string => brief(counts({ nodeCount, switchPorts: 128, planes: 2 }));
    expect([64, 128, 256, 512, 1024].map((nodeCount) => `${nodeCount}: ${of(nodeCount)}`)).toEqual([
      "64: 16/8 1024+1024",
      "128: 32/16 2048+2048",
      "256: 64/32 4096+4096",
      "512: 128/64 8192+8192",
      "1024: 256/128 16384+16384",
    ]);
  });

  const published = sharedData("network/superpod.csv");
  it.skipIf(published === null)("every row of the published table", () => {
    const rows = readLines(published!)
      .filter((line) => /^\d/.test(line))
      .map((line) => line.split(",").map(Number));
    expect(rows.length).toBeGreaterThan(0);
    for (const [nodeCount = 0, , ...switches] of rows) {
      const found = counts({ nodeCount }).levels.map((level) => level.switchCount);
      expect([...found, 0].slice(0, 3)).toEqual(switches);
    }
  });

  // Kim, Dally, Scott, Abts 2008: a = 2p = 2h, N = 4p⁴ + 2p².
  it("a balanced dragonfly of 63-port switches joins 262,656 ports", () => {
    const answer = counts({ kind: "dragonfly", nodeCount: 262_656, portsPerNode: 1, switchPorts: 63 });
    expect(answer.nodeCountMax).toBe(262_656);
    expect(brief(answer)).toBe(`${513 * 32}/0 ${262_656}+${(513 * 32 * 31) / 2 + (513 * 512) / 2}`);
  });

  it("fat trees of k-port switches: k²/2 ports in two tiers, k³/4 in three (Al-Fares 2008)", () => {
    const fatTree = { kind: "fat-tree", portsPerNode: 1, switchPorts: 48 } as const;
    expect(brief(counts({ ...fatTree, nodeCount: 1152 }))).toBe("48/24 1152+1152");
    expect(brief(counts({ ...fatTree, nodeCount: 27_648 }))).toBe("1152/1152/576 27648+27648+27648");
    expect(fabricCounts(fabricRequest({ ...fatTree, nodeCount: 27_649 }))).toMatchObject({
      kind: "impossible",
      nearest: "27648 nodes, or switches of more ports, or more planes",
    });
  });
});

describe("oversubscription", () => {
  it("3:1 at the leaves takes 48 of 64 ports downwards and a third of the spines", () => {
    const answer = counts({ nodeCount: 384, leafOversubscription: 3 });
    expect(brief(answer)).toBe("64/16 3072+1024");
    expect(answer.bisectionGbPerS).toBeCloseTo((384 * 8 * 50) / 2 / 3);
    expect(fabricOf(answer).tiers).toEqual([{ name: "leaf", nodeCount: 48, oversubscription: 3 }]);
  });

  it("7:1 between pods, as Meta's 24k cluster has above pods of 3,072 (SIGCOMM 2024)", () => {
    const answer = counts({ nodeCount: 3072, spineOversubscription: 7 });
    expect(answer.levels.map((level) => level.name)).toEqual(["leaf", "spine", "core"]);
    expect(answer.oversubscription[1]).toBeLessThanOrEqual(7);
    expect(answer.oversubscription[1]).toBeGreaterThan(5);
  });
});

describe("nonsense", () => {
  it.each([
    [{ nodeCount: 0 }, "0 is no number of nodes"],
    [{ nodeCount: 4, switchPorts: 2 }, "a switch of 2 ports cannot lead up and down"],
    [{ nodeCount: 4, leafOversubscription: 0.5 }, "an oversubscription of 0.5 is below 1"],
    [{ nodeCount: 99, portsPerNode: 40, kind: "fat-tree" }, "a node has 40 ports, a leaf only 32 downwards"],
    [{ nodeCount: 9, portsPerNode: 2, kind: "dragonfly", switchPorts: 4 }, "9 nodes of 2 ports are more than"],
  ] as const)("%o", (given, reason) => {
    const answer = fabricCounts(fabricRequest(given));
    expect(answer).toMatchObject({ kind: "impossible", reason: expect.stringContaining(reason) });
  });
});

describe("every network that is counted can be cabled", () => {
  const requests = fc.record({
    kind: fc.constantFrom("fat-tree", "rail-optimised", "dragonfly"),
    nodeCount: fc.integer({ min: 1, max: 6000 }),
    portsPerNode: fc.integer({ min: 1, max: 16 }),
    switchPorts: fc.integer({ min: 8, max: 144 }),
    leafOversubscription: fc.constantFrom(1, 1.5, 2, 3, 7),
    spineOversubscription: fc.constantFrom(1, 2, 7),
    planes: fc.integer({ min: 1, max: 4 }),
  });

  it("with no switch over its ports, and no level narrower than asked for", () => {
    fc.assert(
      fc.property(requests, (given) => {
        const request = fabricRequest(given);
        const answer = fabricCounts(request);
        if (answer.kind === "impossible") return;
        const ends = answer.levels.reduce((sum, level) => sum + 2 * level.cablesDown, 0);
        const nodeEnds = request.nodeCount * request.portsPerNode * request.planes;
        expect(ends - nodeEnds).toBeLessThanOrEqual(answer.switchCount * request.switchPorts);
        answer.levels.forEach((level, index) => {
          const up = answer.levels[index + 1]?.cablesDown ?? 0;
          if (request.kind !== "dragonfly") {
            expect(level.cablesDown + up).toBeLessThanOrEqual(level.switchCount * request.switchPorts);
          }
        });
        const asked = [request.leafOversubscription, request.spineOversubscription];
        answer.oversubscription.forEach((ratio, index) => {
          const unused = request.kind === "dragonfly" ? 2 : 1;
          expect(ratio).toBeLessThanOrEqual(unused * (asked[index] ?? 1) + 1e-9);
        });
        expect(answer.nodeCountMax).toBeGreaterThanOrEqual(request.nodeCount);
      }),
    );
  });

  it("and more oversubscription never needs more tiers, nor has it more bandwidth in as many", () => {
    fc.assert(
      fc.property(requests, (given) => {
        const less = fabricCounts(fabricRequest({ ...given, leafOversubscription: 1, kind: "rail-optimised" }));
        const more = fabricCounts(fabricRequest({ ...given, leafOversubscription: 3, kind: "rail-optimised" }));
        if (less.kind === "impossible" || more.kind === "impossible") return;
        expect(more.levels.length).toBeLessThanOrEqual(less.levels.length);
        if (more.levels.length < less.levels.length) return;
        expect(more.bisectionGbPerS).toBeLessThanOrEqual(less.bisectionGbPerS);
      }),
    );
  });
});
