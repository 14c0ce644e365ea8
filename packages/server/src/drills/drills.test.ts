import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

const local = { nodeName: "n", nodeCount: 2, slotCount: 1, accelerators: "declared" } as const;

/** Two nodes of one pool. Drills are allowed on the first. */
async function startTwoNodes(home: string): Promise<LiveControlPlane> {
  const live = await startLive(home, { local });
  const { items } = await live.client.listNodes();
  const [first, second] = items.map(({ id }) => id);
  const nodeLabels = {
    [first as string]: { rack: "r1", "headroom.drills": "allowed" },
    [second as string]: { rack: "r2" },
  };
  await live.client.apply({
    pools: [
      {
        name: "local",
        site: "local",
        executor: "local",
        acceleratorType: "slot",
        priceMicroUsdPerHour: 2_000_000,
        nodeLabels,
      },
    ],
  });
  await expect
    .poll(async () => (await live.client.listNodes()).items.every(({ labels }) => labels !== undefined))
    .toBe(true);
  return live;
}

const gang = { workers: 1, accelerators: 1, coresMilli: 0 } as const;

describe("drills", () => {
  it("simulate a loss, make it on allowed nodes only, and compare both, across a restart", async () => {
    const home = temporaryHome();
    onTestFinished(() => removeHome(home));
    let live = await startTwoNodes(home);
    const [first] = (await live.client.listNodes()).items.map(({ id }) => id);
    const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "t", run: "sleep 600", gang });
    await expect.poll(async () => (await live.client.getWorkload(workloadId)).attempts.at(-1)?.phase).toBe("running");
    const on = (await live.client.getWorkload(workloadId)).attempts.at(-1)?.workers[0]?.node;
    expect(on).toBe(first);

    const forecast = await live.client.forecastDrill({ lose: [{ level: "rack", name: "r1" }], forMs: 60_000 });
    expect(forecast).toMatchObject({
      nodes: [first],
      accelerators: 1,
      awayMicroUsd: 33_333,
      interruptedCount: 1,
      waitingCount: 0,
      incidents: [{ nodes: 1, workloads: 1 }],
      work: [{ workloadId, name: "t" }],
    });
    expect(forecast.work[0]?.againOn).not.toContain(first);
    expect((await live.client.listDrills()).items).toEqual([]);

    const refused = {
      code: "drillNotAllowed",
      problem: { detail: expect.stringContaining("headroom.drills: allowed") },
    };
    await expect(live.client.startDrill({ lose: [{ name: "r2" }] })).rejects.toMatchObject(refused);
    await expect(live.client.startDrill({ lose: [{ name: "r1" }, { name: "r2" }] })).rejects.toMatchObject(refused);
    await expect(live.client.startDrill({ lose: [{ name: "r9" }] })).rejects.toMatchObject({ code: "unknownDomain" });

    const { id, window } = await live.client.startDrill({ lose: [{ name: "r1" }], forMs: 60_000 });
    await expect(live.client.startDrill({ lose: [{ name: "r1" }] })).rejects.toMatchObject({ code: "drillRunning" });
    await expect
      .poll(async () => (await live.client.getDrill(id)).observed.interruptedCount, { timeout: 20_000 })
      .toBe(1);
    await live.close();

    live = await startLive(home, { local });
    await expect
      .poll(async () => (await live.client.getDrill(id)).observed, { timeout: 20_000 })
      .toMatchObject({ interruptedCount: 1, waitingCount: 0, isSettled: false, work: [{ workloadId, name: "t" }] });
    expect((await live.client.calendar()).items.map(({ entry }) => entry.name)).toEqual([window]);
    expect(await live.client.cancelDrill(id)).toMatchObject({ phase: "cancelled", endedBy: expect.any(String) });
    await expect.poll(async () => (await live.client.getDrill(id)).observed.isSettled).toBe(true);
    await expect(live.client.cancelDrill(id)).rejects.toMatchObject({ code: "drillOver" });
    expect((await live.client.calendar()).items).toEqual([]);

    const short = await live.client.startDrill({ lose: [{ name: "r1" }], forMs: 1_000 });
    await expect.poll(async () => (await live.client.getDrill(short.id)).phase, { timeout: 20_000 }).toBe("returned");
    await live.client.stopWorkload(workloadId);
    await live.close();
  });

  it("count work that stops after the window has ended", async () => {
    const home = temporaryHome();
    onTestFinished(() => removeHome(home));
    const live = await startTwoNodes(home);
    const run = "trap '' TERM; while true; do sleep 0.1; done";
    const { workloadId } = await live.client.submitWorkload({
      kind: "train",
      name: "t",
      run,
      gang,
      graceTimeoutMs: 4_000,
    });
    await expect.poll(async () => (await live.client.getWorkload(workloadId)).attempts.at(-1)?.phase).toBe("running");
    const { id } = await live.client.startDrill({ lose: [{ name: "r1" }], forMs: 1_000 });
    await expect.poll(async () => (await live.client.getDrill(id)).observed.isSettled, { timeout: 30_000 }).toBe(true);
    expect(await live.client.getDrill(id)).toMatchObject({
      phase: "returned",
      observed: { interruptedCount: 1, waitingCount: 0, work: [{ workloadId }] },
    });
    await live.client.stopWorkload(workloadId);
    await live.close();
  }, 60_000);

  it("are over at the next start if the process died before their window was recorded", async () => {
    const home = temporaryHome();
    onTestFinished(() => removeHome(home));
    let live = await startTwoNodes(home);
    const { id } = await live.client.startDrill({ lose: [{ name: "r1" }], forMs: 60_000 });
    const file = path.join(home, "drills.json");
    const before = statSync(file).ino;
    const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "elsewhere", run: "true", gang });
    await expect.poll(async () => (await live.client.getWorkload(workloadId)).phase).toBe("succeeded");
    expect(statSync(file).ino, "work elsewhere writes no file").toBe(before);
    await live.close();
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(`"drill-${id}"`, '"drill-d9"'));

    live = await startLive(home, { local });
    await expect
      .poll(async () => await live.client.getDrill(id))
      .toMatchObject({ phase: "returned", observed: { isSettled: true } });
    await live.client.removeCalendarEntry(`drill-${id}`);
    const next = await live.client.startDrill({ lose: [{ name: "r1" }], forMs: 60_000 });
    expect(next).toMatchObject({ id: "d2", phase: "running" });
    await live.client.cancelDrill("d2");
    await live.close();
  }, 60_000);
});
