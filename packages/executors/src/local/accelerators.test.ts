import { describe, expect, it } from "vitest";
import { parseNvidiaSmi, parseRocmSmi } from "./accelerators.ts";
import { describeMachine } from "./inventory.ts";

describe("what nvidia-smi prints", () => {
  it("names each card with its index and its type as one word", () => {
    const text = [
      "0, NVIDIA H200",
      "1, NVIDIA H100 80GB HBM3",
      "2, NVIDIA A100-SXM4-80GB",
      "3, Tesla T4",
      "4, NVIDIA GeForce RTX 4090",
      "",
    ].join("\n");
    expect(parseNvidiaSmi(text).map(({ deviceIndex, type }) => `${deviceIndex} ${type}`)).toEqual([
      "0 H200-SXM",
      "1 H100-SXM-80GB",
      "2 A100-SXM-80GB",
      "3 T4",
      "4 RTX-4090",
    ]);
  });

  it("holds no cards where it holds a message", () => {
    expect(parseNvidiaSmi("No devices were found\n")).toEqual([]);
    expect(parseNvidiaSmi("")).toEqual([]);
  });
});

describe("what rocm-smi prints", () => {
  it("names each card in the order of its index, whatever the capitals of the release", () => {
    const text = JSON.stringify({
      card10: { "Card Series": "AMD Instinct MI300X", "Card Model": "0x74a1" },
      card0: { "Card series": "AMD Instinct MI250X", "GFX Version": "gfx90a" },
      card1: { "Card Series": "0x73bf", "Card Model": "AMD Radeon RX 7900 XTX" },
      system: { "Driver version": "6.3.6" },
    });
    expect(parseRocmSmi(text).map(({ deviceIndex, type }) => `${deviceIndex} ${type}`)).toEqual([
      "0 MI250X",
      "1 RX-7900-XTX",
      "10 MI300X",
    ]);
  });

  it("holds no cards where it is not JSON", () => {
    expect(parseRocmSmi("WARNING: No AMD GPUs specified")).toEqual([]);
    expect(parseRocmSmi("[1]")).toEqual([]);
  });
});

describe("the machine as nodes", () => {
  const machine = { name: "box", cores: 16, memoryMib: 64_000 };
  const nvidia = (type: string, deviceIndex: number) => ({ vendor: "nvidia", type, label: type, deviceIndex }) as const;

  it("is one node in one pool when its accelerators are of one type", () => {
    const { sites, pools, nodes } = describeMachine(machine, [nvidia("H200", 0), nvidia("H200", 1)], {});
    expect(sites).toEqual([{ name: "local", fabricLevels: [] }]);
    expect(pools.map(({ name, acceleratorType }) => `${name} ${acceleratorType}`)).toEqual(["local H200"]);
    const amounts = { acceleratorCount: 2, coresMilli: 16_000, memoryMib: 64_000, workersMax: 256 };
    expect(nodes).toEqual([{ id: "box", pool: "local", fabric: [], ...amounts }]);
  });

  it("bounds the number of workers, because workers that reserve nothing cost processes too", () => {
    const workersMax = (cores: number, nodeCount: number) =>
      describeMachine({ ...machine, cores }, [], { nodeCount, slotCount: 1 }).nodes.map((node) => node.workersMax);
    expect([workersMax(2, 1), workersMax(64, 2)]).toEqual([[128], [512, 512]]);
  });

  it("has the family of its type, and says which pools the tools have found", () => {
    const found = describeMachine(machine, parseNvidiaSmi("0, NVIDIA H100 80GB HBM3"), {});
    expect(found.pools).toMatchObject([{ acceleratorType: "H100-SXM-80GB", acceleratorFamily: "H100" }]);
    expect(found.detectedPools).toEqual(["local"]);
    const declared = describeMachine(machine, [], {});
    expect([declared.detectedPools, declared.pools[0]?.acceleratorFamily]).toEqual([[], undefined]);
  });

  it("declares slots where there are none: its cores, at most eight, or as told", () => {
    const count = (options: object, cores: number): number | undefined =>
      describeMachine({ ...machine, cores }, [], options).nodes[0]?.acceleratorCount;
    expect([count({}, 2), count({}, 64), count({ slotCount: 3 }, 64)]).toEqual([2, 8, 3]);
    expect(describeMachine(machine, [], {}).pools[0]?.acceleratorType).toBe("slot");
    expect(describeMachine(machine, [], { slotCount: 0 }).pools[0]?.acceleratorType).toBe("");
    expect(describeMachine(machine, [], { slotCount: 0 }).nodes[0]).toMatchObject({
      acceleratorCount: 0,
      coresMilli: 16_000,
    });
  });

  it("is declared as several nodes, which share it evenly, whatever is in it", () => {
    const options = { nodeName: "laptop", nodeCount: 3, slotCount: 8 };
    const { nodes, pools, devices } = describeMachine({ ...machine, cores: 4 }, [nvidia("H200", 0)], options);
    expect(nodes.map(({ id }) => id)).toEqual(["laptop-1", "laptop-2", "laptop-3"]);
    expect(nodes[2]).toMatchObject({
      acceleratorCount: 8,
      coresMilli: 8_000,
      memoryMib: Math.floor(machine.memoryMib / 3),
    });
    expect([pools.map(({ acceleratorType }) => acceleratorType), devices.size]).toEqual([["slot"], 0]);
    const [few] = describeMachine(machine, [], { ...options, slotCount: 2 }).nodes;
    expect(few?.coresMilli).toBe(5_333);
  });

  it("is a node for each type otherwise, which keep the vendor's numbers and share what they stand on", () => {
    const found = [nvidia("T400", 0), nvidia("A6000", 1), nvidia("A6000", 2), nvidia("A6000", 3)];
    const { nodes, pools, devices } = describeMachine(machine, found, { nodeName: "desk" });
    expect(nodes.map(({ id, pool, acceleratorCount, coresMilli }) => [id, pool, acceleratorCount, coresMilli])).toEqual(
      [
        ["desk", "local", 3, 12_000],
        ["desk-T400", "local-T400", 1, 4_000],
      ],
    );
    expect(pools.map(({ acceleratorType }) => acceleratorType)).toEqual(["A6000", "T400"]);
    expect([...devices.values()].map(({ deviceIndices }) => deviceIndices)).toEqual([[1, 2, 3], [0]]);
  });
});
