import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

async function changesNothing(act: () => Promise<unknown>): Promise<void> {
  const before = (await live.client.status()).sequence;
  await act();
  expect((await live.client.status()).sequence).toBe(before);
}

describe("commands for the fleet", () => {
  it("drain and resume nodes", async () => {
    const [node] = (await live.client.listNodes()).items;
    const id = node?.id ?? "";
    await live.client.drainNode(id, { running: "wait" });
    expect((await live.client.getNode(id)).draining).toBe(true);
    await live.client.resumeNode(id);
    expect((await live.client.getNode(id)).draining).toBe(false);
    await expect(live.client.drainNode("nowhere", { running: "wait" })).rejects.toMatchObject({ code: "unknownNode" });
  });

  it("remove pools and sites, and refuse to remove what does not exist", async () => {
    const annex = { name: "annex", fabricLevels: [] };
    const old = { name: "old", site: "annex", executor: "local", acceleratorType: "K80" };
    await live.client.apply({ sites: [annex], pools: [old, { ...old, name: "older" }] });
    expect(await live.client.removePool("older", { force: true })).toEqual({ pool: "older", nodes: 0, workloads: 0 });
    expect(await live.client.removeSite("annex")).toEqual({ site: "annex", pools: 1, nodes: 0, workloads: 0 });
    const { sites, pools } = await live.client.fleet();
    expect([...sites, ...pools].map(({ name }) => name)).not.toContain("annex");
    expect(pools.map(({ name }) => name)).not.toContain("old");
    await expect(live.client.removeSite("annex")).rejects.toMatchObject({ code: "unknownSiteName" });
    await expect(live.client.removePool("old")).rejects.toMatchObject({ code: "unknownPoolName" });
    await expect(live.client.removeNode("nowhere")).rejects.toMatchObject({ code: "unknownNode" });
  });
});

describe("notices", () => {
  it("say when a node goes and why, the latest word; a retry with the same key says it once", async () => {
    const [node] = (await live.client.listNodes()).items;
    const id = node?.id ?? "";
    const options = { idempotencyKey: "reclaim-1" };
    const { goneAtMs } = await live.client.noticeNode(id, { inMs: 3_600_000, reason: "spot reclaim" }, options);
    expect(goneAtMs).toBeGreaterThan(Date.now());
    expect((await live.client.noticeNode(id, { inMs: 3_600_000, reason: "spot reclaim" }, options)).goneAtMs).toBe(
      goneAtMs,
    );
    await expect(live.client.noticeNode(id, { inMs: 1 }, options)).rejects.toMatchObject({
      code: "idempotencyKeyReused",
    });
    expect((await live.client.getNode(id)).notice).toEqual({
      goneAtMs,
      overAtMs: goneAtMs + 3_600_000,
      reason: "spot reclaim",
    });
    expect((await live.client.calendar()).items.map(({ sentence }) => sentence)).toEqual([
      expect.stringMatching(/^Maintenance notice-\S+ of \S+, from .* \(spot reclaim\)\.$/),
    ]);
    const later = goneAtMs + 1_000;
    expect(await live.client.noticeNode(id, { goneAtMs: later })).toEqual({ nodeId: id, goneAtMs: later });
    expect((await live.client.listNodes()).items[0]?.notice).toEqual({
      goneAtMs: later,
      overAtMs: later + 3_600_000,
    });
    expect(await live.client.withdrawNotice(id)).toEqual({ nodeId: id });
    expect((await live.client.getNode(id)).notice).toBeUndefined();
    expect((await live.client.calendar()).items).toEqual([]);
  });

  it("are refused of nodes that nobody knows, and without one time", async () => {
    await changesNothing(async () => {
      await expect(live.client.noticeNode("nowhere", { inMs: 1 })).rejects.toMatchObject({ code: "unknownNode" });
      await expect(live.client.withdrawNotice("nowhere")).rejects.toMatchObject({ code: "unknownNode" });
      const [node] = (await live.client.listNodes()).items;
      const id = node?.id ?? "";
      for (const body of [{}, { inMs: 1, goneAtMs: 1 }, { inMs: -1 }, { inMs: 1, reason: "" }])
        await expect(live.client.noticeNode(id, body)).rejects.toMatchObject({ code: "invalidRequest" });
      await expect(live.client.noticeNode(id, { goneAtMs: 1_000 })).rejects.toMatchObject({
        code: "noticeOver",
        problem: {
          detail: expect.stringMatching(/names 1970-01-01T00:00:01Z, but the server's clock is at 20/),
        },
      });
    });
  });
});
