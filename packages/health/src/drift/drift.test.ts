import { describe, expect, it } from "vitest";
import { uniformDraws } from "../spares/uniform-draws.ts";
import { causesOf } from "./causes.ts";
import { deviationsOf } from "./deviations.ts";
import type { NodeProfile } from "./profile.ts";

const FACTS = 20;

interface Fleet {
  readonly size: number;
  readonly seed: number;
  /** Facts other than the majority's, by name of the node. */
  readonly planted?: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly performance?: (node: string, noise: number) => number;
}

/** Nodes with as many facts, of which some vary by rack or node as in any fleet. */
function fleet({ size, seed, planted = new Map(), performance }: Fleet): readonly NodeProfile[] {
  const draw = uniformDraws(seed);
  return Array.from({ length: size }, (_, index) => {
    const node = `n${index}`;
    const facts = new Map(Array.from({ length: FACTS }, (__, fact) => [`fact-${fact}`, "1.0"]));
    facts
      .set("serial", `s${index}`)
      .set("rack", `r${index >> 4}`)
      .set("slot", String(index % 16));
    facts.set("batch", draw() < 0.3 ? "b" : "a");
    for (const [fact, value] of planted.get(node) ?? []) facts.set(fact, value);
    const noise = (draw() + draw() + draw() - 1.5) * 0.02;
    return { node, set: "h100", facts, performance: performance?.(node, noise) ?? null };
  });
}

describe("drift", () => {
  it("is each value that differs from that of most nodes, also one that is absent", () => {
    const planted = new Map([
      ["n3", new Map([["fact-7", "0.9"]])],
      ["n9", new Map([["fact-2", "1.1"]])],
      ["n12", new Map([["fact-2", "1.1"]])],
    ]);
    const nodes = fleet({ size: 40, seed: 1, planted }).map((profile) =>
      profile.node === "n5"
        ? { ...profile, facts: new Map([...profile.facts].filter(([fact]) => fact !== "fact-1")) }
        : profile,
    );
    const found = deviationsOf(nodes).filter(({ fact }) => fact.startsWith("fact"));
    expect(found.map(({ fact, value, expected, nodes: own }) => [fact, value, expected, ...own])).toEqual([
      ["fact-1", null, "1.0", "n5"],
      ["fact-7", "0.9", "1.0", "n3"],
      ["fact-2", "1.1", "1.0", "n9", "n12"],
    ]);
    expect(deviationsOf(nodes).some(({ fact }) => fact === "serial" || fact === "rack")).toBe(false);
  });

  it("is measured against what is desired before what most nodes have", () => {
    const nodes = fleet({ size: 5, seed: 1, planted: new Map([["n2", new Map([["fact-0", "2.0"]])]]) });
    const desired = new Map([["*", new Map([["fact-0", "2.0"]])]]);
    expect(deviationsOf(nodes, desired).find(({ fact }) => fact === "fact-0")).toMatchObject({
      value: "1.0",
      expected: "2.0",
      by: "desired",
      peer_count: 1,
      nodes: ["n0", "n1", "n3", "n4"],
    });
  });

  it("keeps sets apart, and says nothing about two nodes", () => {
    const own = fleet({ size: 2, seed: 1, planted: new Map([["n0", new Map([["fact-0", "2.0"]])]]) });
    expect(deviationsOf(own)).toEqual([]);
    const others = fleet({ size: 4, seed: 2 }).map((profile) => ({ ...profile, set: "a100" }));
    expect(deviationsOf([...own, ...others]).map(({ set }) => set)).not.toContain("h100");
  });
});

describe("causes of slow nodes", () => {
  it("rank the planted fact first", () => {
    let first = 0;
    for (let seed = 1; seed <= 100; seed++) {
      const draw = uniformDraws(seed * 7);
      const fact = `fact-${Math.floor(draw() * FACTS)}`;
      const cohort = new Set(Array.from({ length: 6 + Math.floor(draw() * 20) }, () => `n${Math.floor(draw() * 300)}`));
      const planted = new Map([...cohort].map((node) => [node, new Map([[fact, "2.19"]])]));
      const loss = 0.04 + 0.06 * draw();
      const profiles = fleet({
        size: 300,
        seed,
        planted,
        performance: (node, noise) => 1 + noise - (cohort.has(node) ? loss : 0),
      });
      const [cause] = causesOf(profiles);
      if (cause?.facts.length === 1 && cause.facts[0]?.fact === fact) first++;
      expect(Math.abs((cause?.slower_pct ?? 0) - 100 * loss)).toBeLessThan(1.5);
    }
    expect(first).toBeGreaterThanOrEqual(95);
  });

  it("are found one after the other, and facts that the data cannot tell apart are named together", () => {
    const planted = new Map(
      Array.from({ length: 40 }, (_, index) => [
        `n${index}`,
        new Map<string, string>(
          index < 25
            ? [
                ["nccl", "2.19"],
                ["libibverbs", "41"],
              ]
            : [["governor", "powersave"]],
        ),
      ]),
    );
    const causes = causesOf(
      fleet({
        size: 200,
        seed: 4,
        planted,
        performance: (node, noise) => {
          const at = Number(node.slice(1));
          return 900 * (1 + noise - (at < 25 ? 0.08 : at < 40 ? 0.03 : 0));
        },
      }),
    );
    expect(causes.map(({ facts, node_count: count }) => [count, ...facts.map(({ value }) => value)])).toEqual([
      [25, "41", "2.19"],
      [15, "powersave"],
    ]);
  });

  it("are not invented where noise is all there is", () => {
    for (let seed = 1; seed <= 40; seed++)
      expect(causesOf(fleet({ size: 200, seed, performance: (_, noise) => 1 + noise }))).toEqual([]);
  });
});
