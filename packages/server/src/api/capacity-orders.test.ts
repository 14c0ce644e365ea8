import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
  await live.client.apply({
    sites: [{ name: "annex", fabricLevels: [] }],
    pools: [{ name: "h100", site: "annex", executor: "local", acceleratorType: "H100-SXM-80GB" }],
  });
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

const shape = { acceleratorCount: 8, coresMilli: 96_000, memoryMib: 1_048_576 };
const arrival = { kind: "leadTime", p50Ms: 35 * 86_400_000, p95Ms: 56 * 86_400_000 } as const;
const order = (name: string) => ({ name, pool: "h100", nodeCount: 4, arrival, shape });

describe("capacity orders over HTTP", () => {
  it("are created, advanced and cancelled, with the user and the reason of each change", async () => {
    const { client } = live;
    const options = { idempotencyKey: "order-1" };
    expect(await client.createCapacityOrder({ ...order("rack-1"), reason: "growth" }, options)).toEqual({
      name: "rack-1",
      phase: "planned",
      dryRun: false,
    });
    expect((await client.createCapacityOrder({ ...order("rack-1"), reason: "growth" }, options)).phase).toBe("planned");
    await client.advanceCapacityOrder("rack-1", {});
    const known = await client.getCapacityOrder("rack-1");
    expect(known).toMatchObject({ phase: "ordered", joinedCount: 0, lateMs: 0, nodes: [] });
    expect(known.expected?.p50AtMs).toBe((known.orderedAtMs ?? 0) + arrival.p50Ms);
    expect(known.sentence).toMatch(
      /^Order rack-1 of 4 nodes for pool h100 is ordered; expected in 5 weeks, \d{4}-\S+ \(P95 in 8 weeks, \d{4}-\S+\)\.$/,
    );
    expect(known.changes.map(({ phase, reason }) => [phase, reason])).toEqual([
      ["planned", "growth"],
      ["ordered", ""],
    ]);
    expect(known.changes[0]?.actor).not.toBe("");
    const past = { kind: "dates", p50AtMs: 1_000, p95AtMs: 2_000 } as const;
    await client.advanceCapacityOrder("rack-1", { phase: "ordered", arrival: past, reason: "supplier" });
    const late = await client.getCapacityOrder("rack-1");
    expect(late.lateMs).toBeGreaterThan(1_000_000);
    expect(late.sentence).toMatch(/late: expected .* ago, \S+ \(its P95 date \S+ has also passed\)/);
    expect((await client.cancelCapacityOrder("rack-1", { reason: "no budget" })).phase).toBe("cancelled");
    expect((await client.listCapacityOrders()).items).toEqual([]);
    await expect(client.advanceCapacityOrder("rack-1", {})).rejects.toMatchObject({ code: "cannotAdvanceOrder" });
  });

  it("are checked by a dry run, which records nothing", async () => {
    const { client } = live;
    const { sequence } = await client.status();
    const dryRun = { dryRun: true };
    expect(await client.createCapacityOrder(order("rack-2"), dryRun)).toEqual({
      name: "rack-2",
      phase: "planned",
      dryRun: true,
    });
    await expect(client.advanceCapacityOrder("rack-2", {}, dryRun)).rejects.toMatchObject({
      code: "unknownCapacityOrder",
    });
    await expect(client.getCapacityOrder("rack-2")).rejects.toMatchObject({ code: "unknownCapacityOrder" });
    expect((await client.status()).sequence).toBe(sequence);
  });

  it("are listed in pages, by pool, and only while they are not over", async () => {
    const { client } = live;
    for (const name of ["a", "b", "c"]) await client.createCapacityOrder(order(name));
    const first = await client.listCapacityOrders({ limit: 2 });
    expect(first.items.map(({ name }) => name)).toEqual(["a", "b"]);
    const second = await client.listCapacityOrders({ limit: 2, cursor: first.nextCursor });
    expect([second.items.map(({ name }) => name), second.nextCursor]).toEqual([["c"], null]);
    expect((await client.listCapacityOrders({ all: true })).items.map(({ name }) => name)).toContain("rack-1");
    expect((await client.listCapacityOrders({ pool: "none" })).items).toEqual([]);
    await expect(client.listCapacityOrders({ cursor: "nowhere" })).rejects.toMatchObject({ code: "invalidCursor" });
  });

  it("are refused beyond their bounds", async () => {
    const { client } = live;
    const { shape: _shape, ...bare } = order("x");
    await expect(client.createCapacityOrder(bare)).rejects.toMatchObject({ code: "unknownNodeShape" });
    await expect(client.createCapacityOrder({ ...bare, pool: "none" })).rejects.toMatchObject({ code: "unknownPool" });
    await expect(client.createCapacityOrder(order("a"))).rejects.toMatchObject({ code: "capacityOrderExists" });
    const wrong = [
      { ...order("x"), nodeCount: 0 },
      { ...order("x"), nodeCount: 10_001 },
      { ...order("x"), reason: "r".repeat(201) },
      { ...order("x".repeat(64)) },
      { ...order("x"), arrival: { ...arrival, p95Ms: 1 } },
    ];
    for (const body of wrong)
      await expect(client.createCapacityOrder(body)).rejects.toMatchObject({ code: "invalidRequest" });
  });
});
