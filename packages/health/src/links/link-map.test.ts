import { describe, expect, it } from "vitest";
import { uniformDraws } from "../spares/uniform-draws.ts";
import { linkMapInPortions, type LinkItem, type LinkMap } from "./link-map.ts";
import type { LinkNode } from "./measured-pairs.ts";

const CV = 0.03;
const RATE = 11;

interface Fleet {
  readonly seed?: number;
  readonly nodes?: number;
  readonly leaves?: number;
  /** Part of the rate that a pair reaches. */
  readonly part?: (nodes: readonly [number, number], leaves: readonly [number, number]) => number;
  readonly measures?: (node: number) => boolean;
  /** Time of the result of a node. */
  readonly atMs?: (node: number) => number;
}

/** One after another, so that half of the pairs are older than the result of the peer, and all at one time. */
const TIMES = [(node: number): number => 1_000 + node, (): number => 1_000] as const;

/** Each node measures a pair with a node of its leaf and one with a node of another, drawn by chance, with normal noise. */
function fleet({
  seed = 1,
  nodes = 64,
  leaves = 4,
  part = () => 1,
  measures = () => true,
  atMs = (node) => 1_000 + node,
}: Fleet): readonly LinkNode[] {
  const draw = uniformDraws(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
  const leafOf = (node: number): number => node % leaves;
  const peerOf = (node: number, isNear: boolean): number => {
    for (;;) {
      const peer = Math.floor(draw() * nodes);
      if (peer !== node && (leafOf(peer) === leafOf(node)) === isNear) return peer;
    }
  };
  return Array.from({ length: nodes }, (_, node) => {
    const measurements = (leaves === 1 ? [true] : [true, false]).map((isNear) => {
      const peer = peerOf(node, isNear);
      const own = part([node, peer], [leafOf(node), leafOf(peer)]);
      const value = RATE * (isNear ? 1 : 0.9) * own * (1 + CV * normal());
      const test = `network-throughput/host${peer}`;
      return { node: `n${node}`, test, value, unit: "GB/s", verdict: "pass" as const, source: "suite" as const };
    });
    const result = measures(node) ? { basis: "1", atMs: atMs(node), measurements } : null;
    return { id: `n${node}`, name: `host${node}`, pool: "h100", leaf: `leaf-${leafOf(node)}`, result };
  });
}

function linkMap(nodes: readonly LinkNode[]): LinkMap {
  const portions = linkMapInPortions(nodes);
  for (;;) {
    const step = portions.next();
    if (step.done === true) return step.value;
  }
}

const textOf = ({ kind, leaf, nodes }: LinkItem): string => `${kind} ${leaf ?? nodes.join(" ")}`;
const slowOf = (nodes: readonly LinkNode[], kinds = ["uplink", "nic"]): readonly string[] =>
  linkMap(nodes)
    .items.filter(({ kind, verdict }) => verdict === "slow" && kinds.includes(kind))
    .map(textOf);
const SEEDS = Array.from({ length: 100 }, (_, index) => index + 1);

describe("the link map", () => {
  it("names the slow adapter of a node, and explains its pairs by it", () => {
    for (const seed of SEEDS)
      for (const atMs of TIMES) {
        const nodes = fleet({ seed, atMs, part: (ends) => (ends.includes(9) ? 0.6 : 1) });
        expect(slowOf(nodes), `seed ${seed}`).toEqual(["nic n9"]);
        const pairs = linkMap(nodes).items.filter(({ kind, verdict }) => kind === "pair" && verdict === "slow");
        expect(
          pairs.every(({ nodes: ends, detail }) => ends.includes("n9") && detail.endsWith("the adapter of n9")),
        ).toBe(true);
      }
  });

  it("names the slow uplink of a leaf and none of its nodes, with three leaves and with eight", () => {
    for (const seed of SEEDS)
      for (const leaves of [3, 4, 8]) {
        const part = (_: unknown, ends: readonly number[]): number =>
          ends.includes(2) && ends[0] !== ends[1] ? 0.6 : 1;
        for (const atMs of TIMES)
          expect(slowOf(fleet({ seed, leaves, part, atMs })), `seed ${seed}, ${leaves} leaves`).toEqual([
            "uplink leaf-2",
          ]);
      }
  });

  it("names a slow pair alone, with its figures and the time of the measurement", () => {
    const [, atMs] = TIMES;
    const first = fleet({ seed: 3, atMs });
    const [name = ""] = first[5]?.result?.measurements.map(({ test }) => test.replace(/.*host/, "")) ?? [];
    const bad = new Set([5, Number(name)]);
    const nodes = fleet({ seed: 3, atMs, part: (ends) => (ends.every((end) => bad.has(end)) ? 0.5 : 1) });
    const { items, pairs } = linkMap(nodes);
    expect(pairs).toBe(122); // of 128 rows: six pairs measured each other
    const slow = items.filter(({ verdict }) => verdict === "slow");
    expect(slow).toMatchObject([
      { kind: "pair", nodes: ["n5", `n${name}`], measuredAtMs: 1_000, detail: "within the leaf" },
    ]);
    expect((slow[0]?.value ?? 0) / (slow[0]?.median ?? 1)).toBeCloseTo(0.5, 1);
    expect(slow[0]?.deviations).toBeGreaterThan(10);
  });

  it("joins the runs of a result to one pair, so that one noisy run is no slow pair", () => {
    const nodes = fleet({ nodes: 16, seed: 5 }).map((node, index): LinkNode => {
      const measurements = node.result?.measurements.flatMap((row) =>
        [1, 1.01, index === 3 ? 0.6 : 0.99].map((part) => ({ ...row, value: part * RATE })),
      );
      return { ...node, result: { atMs: 1, measurements: measurements ?? [] } };
    });
    expect(linkMap(nodes).pairs).toBe(linkMap(fleet({ nodes: 16, seed: 5 })).pairs);
    expect(linkMap(nodes).items.filter(({ verdict }) => verdict === "slow")).toEqual([]);
  });

  const DAY_MS = 86_400_000;
  /** `after`, with n9 measured again on day 30: the other nodes keep the results of `before`. */
  const measuredAgain = (before: readonly LinkNode[], after: readonly LinkNode[]): readonly LinkNode[] =>
    before.map((node, index) => {
      const result = after[index]?.result;
      return index === 9 && result ? { ...node, result: { ...result, atMs: 30 * DAY_MS } } : node;
    });
  const slowNine = (ends: readonly number[]): number => (ends.includes(9) ? 0.6 : 1);

  it("names an adapter that has degraded since the others were measured, where its node is measured again", () => {
    for (const seed of SEEDS) {
      const nodes = measuredAgain(fleet({ seed }), fleet({ seed: seed + 1_000, part: slowNine }));
      expect(slowOf(nodes), `seed ${seed}`).toEqual(["nic n9"]);
      const nic = linkMap(nodes).items.find(({ kind, nodes: [id] }) => kind === "nic" && id === "n9");
      expect(nic).toMatchObject({ measuredAtMs: 30 * DAY_MS, pairs: 2, detail: "2 of 2 pairs slow" });
    }
  });

  it("names nothing of an adapter that was repaired, where its node is measured again", () => {
    for (const seed of SEEDS) {
      const nodes = measuredAgain(fleet({ seed, part: slowNine }), fleet({ seed: seed + 1_000 }));
      expect(slowOf(nodes, ["uplink", "nic", "pair"]), `seed ${seed}`).toEqual([]);
    }
  });

  it("compares all nodes of a large pool, also that which was measured longest ago", () => {
    const all = fleet({ nodes: 2_200, part: (ends) => (ends.includes(0) ? 0.5 : 1) });
    const nodes = all.map((node, index) => (index === 0 ? node : without(node, "host0")));
    expect(slowOf(nodes)).toEqual(["nic n0"]);
  });

  it("counts the pairs of a node beyond sixteen among those that are left out", () => {
    const [first, ...others] = fleet({ nodes: 64 });
    const row = { node: "n0", unit: "GB/s", verdict: "pass" as const, source: "suite" as const, value: 10 };
    const measurements = Array.from({ length: 40 }, (_, peer) => ({ ...row, test: `network-throughput/host${peer}` }));
    const many = [{ ...(first as LinkNode), result: { atMs: 1_000, measurements } }];
    const unmeasured = others.map((node): LinkNode => ({ ...node, result: null }));
    expect(linkMap([...many, ...unmeasured])).toMatchObject({ pairs: 16, leftOut: 39 - 16 });
  });

  it("compares results of one basis alone, as after a planned change of the hardware", () => {
    const before = fleet({ seed: 7, atMs: () => 1_000 });
    const after = fleet({ seed: 8, part: () => 4, atMs: () => 2_000 });
    const nodes = after.map((node, index) => (index < 24 ? withBasis(before[index] as LinkNode, "before") : node));
    const { items, nodes: counts } = linkMap(nodes);
    expect(items.filter(({ verdict }) => verdict === "slow")).toEqual([]);
    expect(counts).toEqual({ total: 64, measured: 64 });
    const medians = new Set(items.map(({ median }) => Math.round(median ?? 0)));
    expect([...medians].filter((median) => median > 0 && median < 20).length).toBeGreaterThan(0);
  });

  it("compares results that stored no basis with the others until a baseline is stated", () => {
    const nodesOf = (basis: string): readonly LinkNode[] =>
      fleet({ seed: 7, atMs: () => 1_000, part: ([node]) => (node < 4 ? 0.5 : 1) }).map((node, index) =>
        withBasis(node, index < 4 ? undefined : basis),
      );
    expect(slowOf(nodesOf("1"), ["pair"]).length).toBe(8);
    expect(slowOf(nodesOf("1 2026"), ["pair"])).toEqual([]);
  });

  it("is made in portions, several for each pool, so that a caller can do other work between them", () => {
    const nodes = ["a", "b", "c"].flatMap((pool) =>
      fleet({}).map((node): LinkNode => ({ ...node, pool, id: `${pool}-${node.id}` })),
    );
    const portions = [...linkMapInPortions(nodes)];
    expect(portions.length).toBeGreaterThanOrEqual(9);
    expect(linkMap(nodes).nodes).toEqual({ total: 192, measured: 192 });
  });

  it("shows one pair for two nodes that measured each other: the newest", () => {
    const nodes = fleet({ nodes: 2, leaves: 1 });
    const { items, pairs } = linkMap(nodes);
    expect(pairs).toBe(1);
    expect(items.filter(({ kind }) => kind === "pair")).toMatchObject([{ measuredAtMs: 1_001, nodes: ["n1", "n0"] }]);
  });

  it("names no end where two explain the same pairs", () => {
    // All nodes of leaf-1 measured their far pair with n0, which no other node measured: n0, or the uplink of leaf-1 or leaf-0, is slow.
    const nodes = fleet({ seed: 4 }).map((node, index): LinkNode => {
      if (index % 4 !== 1 || node.result === null) return without(node, "host0");
      const moved = node.result.measurements.map((each, at) =>
        at === 0 ? each : { ...each, test: "network-throughput/host0", value: 5 },
      );
      return { ...node, result: { ...node.result, measurements: moved } };
    });
    expect(slowOf(nodes)).toEqual([]);
    expect(slowOf(nodes, ["pair"]).length).toBe(16);
  });

  it("names nothing in healthy fleets beyond chance: at most 1 slow pair in 1,000 fleets of 64 nodes", () => {
    let [slowPairs, slowEnds] = [0, 0];
    for (let seed = 1; seed <= 1_000; seed++)
      for (const { kind, verdict } of linkMap(fleet({ seed, atMs: () => 1_000 })).items)
        if (verdict === "slow") {
          if (kind === "pair") slowPairs++;
          else slowEnds++;
        }
    expect(slowEnds).toBe(0);
    expect(slowPairs).toBeLessThanOrEqual(1);
  });

  it("says where nothing is measured, and where too few pairs are", () => {
    const { items, nodes } = linkMap(fleet({ nodes: 8, leaves: 1, measures: (node) => node < 2 }));
    expect(nodes.total).toBe(8);
    const open = items.filter(({ kind, verdict }) => kind === "nic" && verdict === "notMeasured");
    expect(open.length).toBe(8 - nodes.measured);
    expect(open[0]).toMatchObject({ detail: "no suite has run", value: null, measuredAtMs: null });
    expect(items.filter(({ kind }) => kind === "pair").map(({ verdict }) => verdict)).toEqual(["tooFew", "tooFew"]);
    const few = fleet({ nodes: 3, leaves: 1, part: () => 0.1 });
    expect(linkMap(few).items.every(({ verdict }) => verdict === "tooFew")).toBe(true);
    const uplinks = linkMap(fleet({ measures: () => false })).items.filter(({ kind }) => kind === "uplink");
    expect(uplinks.map(({ verdict }) => verdict)).toEqual(Array.from({ length: 4 }, () => "notMeasured"));
  });

  it("reads only pairs of known nodes, and is bounded", () => {
    const [first, ...others] = fleet({ nodes: 1_200, atMs: () => 1_000 });
    const row = { node: "n0", unit: "GB/s", verdict: "pass" as const, source: "suite" as const };
    const tests = ["network-throughput/host0", "network-throughput/elsewhere", "network-throughput/", "matmul"];
    const measurements = [
      ...tests.map((test) => ({ ...row, test, value: 0 })),
      { ...row, test: "network-throughput/host1", value: -1 },
      { ...row, test: "network-throughput/host2", value: null },
    ];
    const nodes = [{ ...(first as LinkNode), result: { atMs: 1_000, measurements } }, ...others];
    const { items, leftOut, pairs } = linkMap(nodes);
    expect(pairs).toBe(2 * 1_199 - 1); // two nodes measured each other
    expect(items.length).toBe(1_000);
    expect(leftOut).toBeGreaterThan(2_000);
  });
});

const without = (node: LinkNode, peer: string): LinkNode => ({
  ...node,
  result: node.result && {
    ...node.result,
    measurements: node.result.measurements.filter(({ test }) => !test.endsWith(`/${peer}`)),
  },
});

const withBasis = (node: LinkNode, basis: string | undefined): LinkNode => {
  if (node.result === null) return node;
  const { basis: _, ...result } = node.result;
  return { ...node, result: basis === undefined ? result : { ...result, basis } };
};
