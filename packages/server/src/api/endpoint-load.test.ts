import { afterAll, beforeAll, expect, it } from "vitest";
import type { LoadReport } from "@headroom/protocol";
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

const report: LoadReport = {
  version: 1,
  gateway: "edge-1",
  startedAtMs: 1,
  requests: 3,
  running: 0,
  held: 3,
  idleMs: 0,
  queued: null,
  kvUsage: 0.5,
  ttft: null,
  tpot: null,
  replicas: [],
};

it("scales an endpoint up from zero for held requests, and says why", async () => {
  const { client } = live;
  const { workloadId } = await client.submitWorkload({
    kind: "serve",
    name: "chat",
    run: "sleep 1000",
    replicas: { min: 0, max: 2 },
    scale: { concurrencyMilli: 4_000, idleToZeroMs: 60_000 },
  });
  expect(await client.reportLoad(workloadId, { ...report, held: 0, requests: 0 })).toEqual({ workloadId, wanted: 0 });
  expect(await client.reportLoad(workloadId, report)).toEqual({ workloadId, wanted: 1 });
  const [endpoint] = (await client.endpoints()).items;
  expect(endpoint).toMatchObject({
    autoscaled: true,
    replicas: { wanted: 1 },
    lastChange: { from: 0, actor: "autoscaler", ground: { kind: "load", cause: "held", measuredMilli: 3_000 } },
    load: { gateways: 1, held: 3, kvUsage: 0.5 },
    scaling: { cause: "held" },
  });
});

it("lists an overflow that spends nothing while the budget of the endpoint is spent and stops it", async () => {
  const { client } = live;
  const overflowOf = async (name: string, over: "stop" | "minimum") => {
    const { workloadId } = await client.submitWorkload({
      kind: "serve",
      name,
      run: "sleep 1000",
      replicas: { min: 1, max: 2 },
      budget: { microUsd: 0, period: "day", over },
      overflow: { provider: "paid", budget: { microUsd: 5_000_000, period: "day" } },
    });
    const { overflow } = (await client.endpoints()).items.find((each) => each.name === name) ?? {};
    await client.stopWorkload(workloadId);
    return overflow;
  };
  expect(await overflowOf("strict", "stop")).toMatchObject({
    budget: { microUsd: 0, period: "day" },
    sentence: expect.stringContaining("budget of the endpoint is spent"),
  });
  expect(await overflowOf("least", "minimum")).toMatchObject({ budget: { microUsd: 5_000_000 } });
});

it("takes no report of a token that may only read, and none that is not sound", async () => {
  const { client, url } = live;
  const { workloadId } = await client.submitWorkload({
    kind: "serve",
    name: "guarded",
    run: "sleep 1000",
    replicas: { min: 0, max: 2 },
    scale: { concurrencyMilli: 4_000 },
  });
  const { secret: token } = await client.createToken({
    name: "reader",
    user: "reader",
    role: "viewer",
    team: "default",
  });
  const denied = await fetch(new URL(`/v1/endpoints/${workloadId}/load`, url), {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(report),
  });
  expect(denied.status).toBe(403);
  for (const wrong of [{ held: -1 }, { held: Number.NaN }, { gateway: "../x" }, { version: 2 }, { kvUsage: 7 }])
    await expect(client.reportLoad(workloadId, { ...report, ...wrong } as LoadReport)).rejects.toMatchObject({
      code: "invalidRequest",
    });
  await expect(client.reportLoad("w999", report)).rejects.toMatchObject({ code: "unknownWorkload" });
  const guarded = (await client.endpoints()).items.find((each) => each.workloadId === workloadId);
  expect(guarded).toMatchObject({ replicas: { wanted: 0 }, load: null });
});

it("says how the last replica failed while none is ready", async () => {
  const { client } = live;
  const { workloadId } = await client.submitWorkload({
    kind: "serve",
    name: "broken",
    run: "exit 3",
    replicas: { min: 1, max: 1 },
  });
  const failure = async () => (await client.endpoints()).items.find((each) => each.workloadId === workloadId)?.failure;
  await expect.poll(failure, { timeout: 20_000 }).toMatchObject({ sentence: "worker 0 exited with code 3" });
  await client.stopWorkload(workloadId);
});
