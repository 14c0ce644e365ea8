import { nodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { fleetView, nodeList, nodeView } from "./fleet-view.ts";
import { teamList } from "./team-view.ts";
import { SmallFleet } from "./testing/small-fleet.ts";
import { verdictView } from "./verdict-view.ts";
import { workloadView } from "./workload-view.ts";

describe("the fleet", () => {
  it("tells free from held and from what nobody can have now", () => {
    const fleet = SmallFleet.withNodes(3, 8);
    fleet.submit("first", { gang: { workers: 2, accelerators: 3 } });
    fleet.command({ kind: "drainNode", nodeId: nodeId("n1"), running: "wait" });
    fleet.receive({ kind: "nodeUnreachable", nodeId: nodeId("n2"), detail: "no answer" });
    const { nodes, accelerators, pools, acceleratorTypes } = fleetView(fleet.engine);
    expect(nodes).toEqual({ total: 3, up: 2, lost: 1, draining: 1, inMaintenance: 0 });
    expect(accelerators).toEqual({ total: 24, held: 6, free: 2, unavailable: 16 });
    expect(pools[0]).toMatchObject({ name: "H100", nodes: 3, accelerators });
    expect(acceleratorTypes).toEqual([{ type: "H100", accelerators }]);
  });

  it("names the phase of each node, and who removes it", () => {
    const fleet = SmallFleet.withNodes(4, 8);
    fleet.submit("first", { gang: { workers: 2, accelerators: 8 } });
    fleet.command({ kind: "removeNode", nodeId: nodeId("n0"), running: "requeue" });
    fleet.command({ kind: "drainNode", nodeId: nodeId("n1"), running: "wait" });
    fleet.receive({ kind: "nodeUnreachable", nodeId: nodeId("n3"), detail: "no answer" });
    expect(nodeList(fleet.engine, {}).items.map(({ phase }) => phase)).toEqual([
      { name: "removing", actor: expect.any(String), sinceMs: fleet.nowMs },
      { name: "draining" },
      { name: "inService" },
      { name: "lost" },
    ]);
  });

  it("counts nodes in an open maintenance window as unavailable, while the window is open", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    fleet.nowMs = 1_000;
    fleet.apply({
      calendar: [{ kind: "maintenance", name: "repair", nodes: [nodeId("n1")], startMs: 2_000, endMs: 3_000 }],
    });
    const free = { total: 16, held: 0, free: 16, unavailable: 0 };
    expect(fleetView(fleet.engine).accelerators).toEqual(free);
    fleet.nowMs = 2_500;
    fleet.receive({ kind: "tick" });
    const { nodes, accelerators } = fleetView(fleet.engine);
    expect(nodes).toMatchObject({ up: 2, draining: 0, inMaintenance: 1 });
    expect(accelerators).toEqual({ total: 16, held: 0, free: 8, unavailable: 8 });
    expect(nodeView(fleet.engine, "n0")).not.toHaveProperty("maintenance");
    expect(nodeView(fleet.engine, "n1")).toMatchObject({ maintenance: { name: "repair", untilMs: 3_000 } });
    fleet.nowMs = 3_000;
    fleet.receive({ kind: "tick" });
    expect(fleetView(fleet.engine).accelerators).toEqual(free);
  });

  it("counts what is kept as spares as nobody's to have", () => {
    const fleet = SmallFleet.withNodes(3, 8);
    const [pool] = fleet.engine.state.pools.values();
    fleet.apply({ pools: pool === undefined ? [] : [{ ...pool, hotSpares: 2 }] });
    fleet.submit("first", { gang: { accelerators: 3 } });
    const view = fleetView(fleet.engine);
    expect(view.accelerators).toEqual({ total: 24, held: 3, free: 5, unavailable: 16 });
    expect(view.pools[0]).toMatchObject({ hotSpares: 2, hotSparesKept: 2 });
    expect(nodeList(fleet.engine, {}).items.map(({ hotSpare }) => hotSpare)).toEqual([true, true, undefined]);
    const second = fleet.submit("second", { gang: { accelerators: 8 } });
    expect(verdictView(fleet.engine, second)).toMatchObject({
      sentence: "Hot spares: it would fit, but 2 nodes are kept as hot spares for work that loses nodes.",
    });
  });

  it("shows the network bandwidth of a node whose pool states it, and how much is left", () => {
    const fleet = SmallFleet.withNetwork(400);
    fleet.submit("first", { gang: { accelerators: 2, networkGbps: 250 } });
    expect(nodeView(fleet.engine, "n0")).toMatchObject({ networkGbps: 400, networkFreeGbps: 150 });
    expect(nodeView(SmallFleet.withNodes(1, 8).engine, "n0")).not.toHaveProperty("networkGbps");
  });

  it("shows who holds which accelerators of a node, and which are left", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const first = fleet.submit("first", { gang: { workers: 2, accelerators: 2, coresMilli: 3_000, memoryMib: 1_024 } });
    const second = fleet.submit("second", { gang: { accelerators: 1 } });
    fleet.finish(first, 0);
    fleet.submit("third", { gang: { accelerators: 1 } });
    const node = nodeView(fleet.engine, "n0");
    expect(node?.holders.map(({ workloadName, accelerators, worker }) => [workloadName, accelerators, worker])).toEqual(
      [
        ["second", "4", 0],
        ["third", "0", 0],
      ],
    );
    expect(node?.holders[0]?.workloadId).toBe(second);
    expect(node).toMatchObject({ freeAccelerators: "1-3,5-7", coresFreeMilli: 16_000, memoryFreeMib: 65_536 });
    expect(nodeView(fleet.engine, "nowhere")).toBeNull();
  });

  it("comes in pages", () => {
    const fleet = SmallFleet.withNodes(5, 1);
    const first = nodeList(fleet.engine, { limit: 3 });
    expect(first.items.map(({ id }) => id)).toEqual(["n0", "n1", "n2"]);
    const rest = nodeList(fleet.engine, { limit: 3, cursor: first.nextCursor });
    expect(rest.items.map(({ id }) => id)).toEqual(["n3", "n4"]);
    expect(rest.nextCursor).toBeNull();
  });
});

describe("teams", () => {
  it("come by name with what they and those below them hold", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.team("research", null, { H100: 6 });
    fleet.team("research/nlp", "research");
    fleet.submit("first", { team: "research/nlp", gang: { accelerators: 3 } });
    const page = teamList(fleet.engine, { limit: 2 });
    const holding = (accelerators: number) => ({ accelerators, coresMilli: 0, memoryMib: 0 });
    expect(page.items).toEqual([
      { name: "default", parent: null, limit: {}, held: {}, heldInAll: holding(0) },
      { name: "research", parent: null, limit: { H100: 6 }, held: { H100: 3 }, heldInAll: holding(3) },
    ]);
    expect(teamList(fleet.engine, { cursor: page.nextCursor }).items).toEqual([
      { name: "research/nlp", parent: "research", limit: {}, held: { H100: 3 }, heldInAll: holding(3) },
    ]);
  });
});

describe("a workload", () => {
  it("is shown with its attempts, its retries and how it ended", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const id = fleet.submit("flaky");
    fleet.finish(id, 7);
    expect(workloadView(fleet.engine.state, id)).toMatchObject({
      phase: "pending",
      tasks: { total: 1, waiting: 1, active: 0, succeeded: 0, failed: 0 },
      attempts: [{ phase: "ended", number: 1, outcome: "failed", exit: { kind: "exited", code: 7 } }],
      retries: [{ task: 0, notBeforeMs: 9_000, failures: 1 }],
    });
    fleet.nowMs = 9_000;
    fleet.receive({ kind: "tick" });
    expect(workloadView(fleet.engine.state, id)?.attempts.map(({ phase }) => phase)).toEqual(["ended", "launching"]);
    fleet.finish(id, 3);
    expect(workloadView(fleet.engine.state, id)).toMatchObject({
      phase: "failed",
      endSentence: "It failed 2 times; the last time worker 0 exited with code 3.",
    });
  });

  it("is a copy: what a view hands out can be changed without harm", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const id = fleet.submit("first");
    const before = fleet.engine.digest();
    const view = workloadView(fleet.engine.state, id);
    view?.attempts.splice(0);
    view?.spec.acceleratorTypes.push("changed");
    if (view !== null) view.gang.workers = 99;
    expect(workloadView(fleet.engine.state, id)).toMatchObject({
      gang: { workers: 1 },
      spec: { acceleratorTypes: [] },
    });
    expect(fleet.engine.digest()).toBe(before);
  });
});
