import { nodeId, type NodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { uniformDraws } from "../spares/uniform-draws.ts";
import { failingCohorts } from "./cohorts.ts";
import { domainOfKey, domainKey } from "./domains.ts";

const label = (level: string, name: string): string => domainKey({ level, path: [name], isFabric: false });

/** 600 nodes in racks of 16, of which each fails with its own chance. Every fifteenth is of batch b7. */
function fleet(draw: () => number, chanceOf: (batch: string) => number) {
  const nodes = new Map<NodeId, { readonly domains: readonly string[] }>();
  const scores = new Map<NodeId, number>();
  for (let at = 0; at < 600; at++) {
    const batch = at % 15 === 0 ? "b7" : `b${at % 6}`;
    nodes.set(nodeId(`n${at}`), {
      domains: [label("pool", "h100"), label("rack", `r${at >> 4}`), label("batch", batch)],
    });
    if (draw() < chanceOf(batch)) scores.set(nodeId(`n${at}`), 2);
  }
  return failingCohorts(scores, nodes).map(({ domain, failed, size }) => ({
    name: domainOfKey(domain).path.at(-1),
    failed,
    size,
  }));
}

describe("cohorts that fail more often", () => {
  it("are named by their label though most of their nodes do not fail", () => {
    const draw = uniformDraws(7);
    let named = 0;
    for (let trial = 0; trial < 50; trial++) {
      const found = fleet(draw, (batch) => (batch === "b7" ? 0.35 : 0.01));
      if (found[0]?.name === "b7") named++;
      expect(found.filter(({ name }) => name !== "b7")).toEqual([]);
    }
    expect(named).toBeGreaterThanOrEqual(48);
  });

  it("are none by chance, in a fleet that fails rarely or often", () => {
    const draw = uniformDraws(11);
    let named = 0;
    for (let trial = 0; trial < 300; trial++)
      for (const chance of [0.003, 0.02, 0.2]) named += fleet(draw, () => chance).length;
    expect(named).toBeLessThanOrEqual(3);
  });
});
