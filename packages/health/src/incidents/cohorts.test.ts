import { nodeId, type Event, type NodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { uniformDraws } from "../spares/uniform-draws.ts";
import { failingCohorts } from "./cohorts.ts";
import { domainOfKey, domainKey } from "./domains.ts";
import { lostAt, PlantedFleet } from "./planted-incidents.ts";

const label = (level: string, name: string): string => domainKey({ level, path: [name], isFabric: false });

/** 600 nodes in racks of 16, of which each fails with its own chance. Every fifteenth is of batch b7. */
function fleet(draw: () => number, chanceOf: (batch: string) => number) {
  const nodes = new Map<NodeId, { readonly domains: readonly string[] }>();
  const failures = new Set<NodeId>();
  for (let at = 0; at < 600; at++) {
    const batch = at % 15 === 0 ? "b7" : `b${at % 6}`;
    nodes.set(nodeId(`n${at}`), {
      domains: [label("pool", "h100"), label("rack", `r${at >> 4}`), label("batch", batch)],
    });
    if (draw() < chanceOf(batch)) failures.add(nodeId(`n${at}`));
  }
  return failingCohorts(failures, nodes).map(({ domain, failed, size }) => ({
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

  it("are named while the single failures of their nodes are days old, and no longer", () => {
    const fleet = new PlantedFleet(608);
    const hour = 3_600_000;
    const store = fleet.nodesOf("store", "h3");
    const returned = (nodeId: NodeId, atMs: number): Event => ({ kind: "nodeReturned", version: 1, atMs, nodeId });
    for (const [at, id] of store.slice(0, 8).entries()) {
      fleet.apply(lostAt(id, at * hour).event);
      fleet.apply(returned(id, at * hour + hour / 4));
    }
    const named = (nowMs: number) => fleet.fold.failingCohorts(nowMs, new Set()).map(({ failed }) => failed);
    expect(store.length).toBeGreaterThan(8);
    for (const nowMs of [9 * hour, 48 * hour]) expect(named(nowMs)[0]).toBe(8);
    expect(named(120 * hour)).toEqual([]);
    expect(fleet.fold.failingCohorts(9 * hour, new Set(store))).toEqual([]);
  });

  it("are none by chance, in a fleet that fails rarely or often", () => {
    const draw = uniformDraws(11);
    let named = 0;
    for (let trial = 0; trial < 300; trial++)
      for (const chance of [0.003, 0.02, 0.2]) named += fleet(draw, () => chance).length;
    expect(named).toBeLessThanOrEqual(3);
  });
});
