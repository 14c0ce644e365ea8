import { nodeId, withdrawnDetail, type Event, type NodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { nodeFindings } from "../remedies/node-findings.ts";
import { uniformDraws } from "../spares/uniform-draws.ts";
import { failingCohorts } from "./cohorts.ts";
import type { FaultScore } from "./fault-scores.ts";
import { lostAt, PlantedFleet } from "./planted-incidents.ts";
import { domainOfKey, domainKey } from "./domains.ts";

const label = (level: string, name: string): string => domainKey({ level, path: [name], isFabric: false });

const failure = (node: NodeId, sinceMs = 0): FaultScore => ({
  node,
  score: 2,
  events: 1,
  codes: ["lost"],
  sinceMs,
  lastAtMs: sinceMs,
});

/** 600 nodes in racks of 16, of which each fails with its own chance. Every fifteenth is of batch b7. */
function fleet(draw: () => number, chanceOf: (batch: string) => number) {
  const nodes = new Map<NodeId, { readonly pool: string; readonly domains: readonly string[] }>();
  const failed: FaultScore[] = [];
  for (let at = 0; at < 600; at++) {
    const batch = at % 15 === 0 ? "b7" : `b${at % 6}`;
    const id = nodeId(`n${at}`);
    nodes.set(id, {
      pool: "h100",
      domains: [label("pool", "h100"), label("rack", `r${at >> 4}`), label("batch", batch)],
    });
    if (draw() < chanceOf(batch)) failed.push(failure(id, 1_000 + at));
  }
  return failingCohorts(failed, nodes).map(({ domain, failed: count, size }) => ({
    name: domainOfKey(domain).path.at(-1),
    failed: count,
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

  it("are compared within their pool, and are one where the same nodes failed", () => {
    const nodes = new Map<NodeId, { readonly pool: string; readonly domains: readonly string[] }>();
    for (let at = 0; at < 2_000; at++) nodes.set(nodeId(`c${at}`), { pool: "cpu", domains: [label("pool", "cpu")] });
    for (let at = 0; at < 400; at++) {
      const domains = [label("pool", "gpu"), label("accelerator", "h100"), label("rack", `r${at >> 4}`)];
      nodes.set(nodeId(`g${at}`), { pool: "gpu", domains });
    }
    const usual = Array.from({ length: 13 }, (_, index) => failure(nodeId(`g${index * 30}`)));
    expect(failingCohorts(usual, nodes)).toEqual([]);
    const rack = Array.from({ length: 8 }, (_, index) => failure(nodeId(`g${32 + index}`), 5_000 + index));
    const doubled = new Map(
      [...nodes].map(([id, node]) => {
        const { pool, domains } = node;
        const isOfRack = domains.includes(label("rack", "r2"));
        return [id, { pool, domains: isOfRack ? [...domains, label("feed", "f2")] : domains }];
      }),
    );
    expect(failingCohorts(rack, doubled)).toMatchObject([
      { pool: "gpu", failed: 8, size: 16, otherFailed: 0, otherSize: 384, sinceMs: 5_000 },
    ]);
  });

  it("are named while the single failures of their nodes are days old, and no longer", () => {
    const planted = new PlantedFleet(608);
    const hour = 3_600_000;
    const store = planted.nodesOf("store", "h3");
    const returned = (id: NodeId, atMs: number): Event => ({ kind: "nodeReturned", version: 1, atMs, nodeId: id });
    for (const [at, id] of store.slice(0, 8).entries()) {
      planted.apply(lostAt(id, at * hour).event);
      planted.apply(returned(id, at * hour + hour / 4));
    }
    const named = (nowMs: number) => planted.fold.failingCohorts(nowMs, new Set()).map(({ failed }) => failed);
    expect(store.length).toBeGreaterThan(8);
    for (const nowMs of [9 * hour, 48 * hour]) expect(named(nowMs)[0]).toBe(8);
    expect(named(120 * hour)).toEqual([]);
    expect(planted.fold.failingCohorts(9 * hour, new Set(store))).toEqual([]);
  });

  it("are none where nodes were drained before they went away", () => {
    const planted = new PlantedFleet(608);
    const hour = 3_600_000;
    for (const [at, id] of planted.nodesOf("store", "h3").entries()) {
      planted.apply({ kind: "nodeDrainStarted", version: 1, atMs: at * hour, nodeId: id, actor: "ops" });
      planted.apply(lostAt(id, at * hour + 1_000).event);
      planted.apply({ kind: "nodeReturned", version: 1, atMs: at * hour + 2_000, nodeId: id });
      planted.apply({ kind: "nodeResumed", version: 1, atMs: at * hour + 3_000, nodeId: id, actor: "ops" });
    }
    expect(planted.fold.failingCohorts(13 * hour, new Set())).toEqual([]);
    expect(planted.fold.repeatedFailures(0.5, 13 * hour).own).toEqual([]);
  });

  it("are none where a cluster's administrators took the nodes out of service, and lose none of them again and again", () => {
    const planted = new PlantedFleet(608);
    const hour = 3_600_000;
    const leave = (id: NodeId, atMs: number, detail: string): void => {
      planted.apply({ kind: "nodeLost", version: 1, atMs, nodeId: id, detail });
      planted.apply({ kind: "nodeReturned", version: 1, atMs: atMs + 900_000, nodeId: id });
    };
    const cordoned = withdrawnDetail("the node is cordoned");
    for (const [at, id] of planted.nodesOf("store", "h3").entries()) leave(id, at * hour, cordoned);
    const [id = nodeId("n3")] = planted.nodesOf("store", "h3");
    for (const at of [13, 14, 15]) leave(id, at * hour, cordoned);
    expect(planted.fold.failingCohorts(17 * hour, new Set())).toEqual([]);
    expect(planted.fold.repeatedFailures(0.5, 17 * hour).own).toEqual([]);
    const nodes = new Map([[id, { health: "up", draining: false, acceleratorCount: 8 } as const]]);
    expect(nodeFindings(planted.fold.incidents(), nodes, 17 * hour)).toEqual([]);
    // A text of the cluster that only contains the words is no withdrawal.
    for (const at of [18, 19, 20]) leave(id, at * hour, `the node is not ready (${cordoned})`);
    expect(nodeFindings(planted.fold.incidents(), nodes, 21 * hour)).toMatchObject([{ kind: "repeatedLoss" }]);
  });

  it("are none by chance, in a fleet that fails rarely or often", () => {
    const draw = uniformDraws(11);
    let named = 0;
    for (let trial = 0; trial < 300; trial++)
      for (const chance of [0.003, 0.02, 0.2]) named += fleet(draw, () => chance).length;
    expect(named).toBeLessThanOrEqual(3);
  });
});
