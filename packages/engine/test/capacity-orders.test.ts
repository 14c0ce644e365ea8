/** Bounds of capacity orders, the order in which nodes count, and what states without orders look like. */
import { ENDED_ORDERS_KEPT, OPEN_ORDERS_MAX, ORDER_CHANGES_KEPT, nodeId, poolName } from "@headroom/model";
import type { Command } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { checkBatch, checkInvariants } from "@headroom/engine-oracle";
import { restoreEngine } from "../src/index.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site } from "./lab/make.ts";

const shape = { acceleratorCount: 8, coresMilli: 64_000, memoryMib: 524_288 };
const create = (name: string, p50Ms = 1, phase: "planned" | "arriving" = "planned", nodeCount = 1): Command =>
  command({
    kind: "createCapacityOrder",
    order: { name, pool: poolName("H100"), nodeCount, shape, arrival: { kind: "leadTime", p50Ms, p95Ms: p50Ms } },
    phase,
    reason: "",
  });
const cancel = (name: string): Command => command({ kind: "cancelCapacityOrder", name, reason: "" });

function fleet(): Drive {
  const drive = new Drive();
  drive.receive(applied({ sites: [site], pools: [pool("H100")] }), { kind: "nodeSeen", node: node("n1", "H100") });
  return drive;
}

const formatOf = ({ engine }: Drive): number =>
  (JSON.parse(new TextDecoder().decode(engine.snapshot())) as { readonly format: number }).format;

describe("capacity orders", () => {
  it("are bounded while they are open, after they are over, and in their changes", () => {
    const drive = fleet();
    const { state } = drive.engine;
    drive.receive(...Array.from({ length: OPEN_ORDERS_MAX }, (_, index) => create(`o${index}`)));
    const { replies } = drive.receive(create("one more"));
    expect(replies[0]).toMatchObject({ rejection: { code: "tooManyCapacityOrders", maxCount: OPEN_ORDERS_MAX } });
    drive.receive(...Array.from({ length: ENDED_ORDERS_KEPT + 7 }, (_, index) => cancel(`o${index}`)));
    expect(state.capacityOrders.size).toBe(OPEN_ORDERS_MAX - 7);
    expect([...state.capacityOrders.keys()][0]).toBe("o7");
    const later = (index: number): Command =>
      command({
        kind: "advanceCapacityOrder",
        name: "o400",
        phase: "planned",
        reason: `${index}`,
        arrival: { kind: "dates", p50AtMs: index, p95AtMs: index },
      });
    drive.receive(...Array.from({ length: ORDER_CHANGES_KEPT + 3 }, (_, index) => later(index)));
    expect(state.capacityOrders.get("o400")?.changes).toHaveLength(ORDER_CHANGES_KEPT);
    expect(checkInvariants(drive.engine)).toEqual([]);
  });

  it("get the nodes that join by their expected dates, then in the order of creation", () => {
    const drive = fleet();
    drive.receive(create("late", 9, "arriving"), create("first", 5, "arriving"), create("second", 5, "arriving"));
    const joined = ["n2", "n3", "n4", "n5"].map((id) => {
      const ready = drive.receive({ kind: "nodeSeen", node: node(id, "H100") });
      expect([...checkInvariants(drive.engine), ...checkBatch(drive.engine.state, ready)]).toEqual([]);
      return drive.engine.state.nodes.get(nodeId(id))?.capacityOrder;
    });
    expect(joined).toEqual(["first", "second", "late", undefined]);
  });

  it("are found to be wrong by the oracle if a node is not counted, or counted twice", () => {
    const drive = fleet();
    drive.receive(create("rack", 5, "arriving", 3));
    const ready = drive.receive({ kind: "nodeSeen", node: node("n2", "H100") });
    const [joins, counts] = ready.events;
    if (joins === undefined || counts === undefined) throw new Error("a node joins and counts");
    const { state } = drive.engine;
    expect(checkBatch(state, { ...ready, events: [joins] })).toEqual([
      "n2 joined H100 and does not count against rack",
    ]);
    expect(checkBatch(state, { ...ready, events: [joins, counts, counts] })).toEqual([
      "n2 counts against rack without having joined",
    ]);
  });

  it("are in the snapshot, whose format is that of the release before while there are none", () => {
    const drive = fleet();
    expect(formatOf(drive)).toBe(4);
    drive.receive(command({ kind: "removeNode", nodeId: nodeId("n1"), running: "refuse" }));
    expect(formatOf(drive)).toBe(5);
    drive.receive(create("rack", 5, "arriving", 2), { kind: "nodeSeen", node: node("n2", "H100") });
    expect(formatOf(drive)).toBe(6);
    const restored = restoreEngine(drive.engine.snapshot());
    expect(restored.digest()).toBe(drive.engine.digest());
    expect(checkInvariants(restored)).toEqual([]);
  });
});
