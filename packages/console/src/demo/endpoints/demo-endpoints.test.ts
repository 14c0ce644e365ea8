/** The demo's endpoint follows its traffic, and its rollouts end by their verdicts. */
import { operations } from "@headroom/protocol";
import type { Event } from "@headroom/protocol";
import { beforeAll, describe, expect, it } from "vitest";
import { createDemoClient } from "../demo-client.ts";
import { DemoWorld } from "../demo-world.ts";
import { startAtMs } from "../testing/demo-worlds.ts";
import { WAVE_MS } from "./demo-gateway.ts";

const DEPLOYED_AT_MS = startAtMs + 3_600_000;

describe("the demo's endpoint", () => {
  const world = new DemoWorld({ seed: 10, startAtMs });
  const client = createDemoClient(world, startAtMs);
  let events: Event[] = [];
  const passTo = (atMs: number): void => {
    while (world.nowMs < atMs) world.advance(atMs, () => false);
  };
  const eventsSoFar = async (): Promise<Event[]> => {
    const found: Event[] = [];
    for await (const { event, sequence } of client.events({ from: 1 })) {
      found.push(event);
      if (sequence >= world.log.lastSequence) break;
    }
    return found;
  };
  beforeAll(async () => {
    passTo(DEPLOYED_AT_MS);
    world.deployEndpoint();
    passTo(DEPLOYED_AT_MS + 3 * WAVE_MS);
    events = await eventsSoFar();
  });

  it("comes from zero, follows each wave of requests, and goes back to zero in the pause", () => {
    const scaled = events.flatMap((event) => (event.kind === "endpointScaled" ? [event] : []));
    expect(Math.max(...scaled.map(({ replicas }) => replicas))).toBeGreaterThan(3);
    const causes = scaled.flatMap(({ replicas, ground }) => (ground.kind === "load" ? [[replicas, ground.cause]] : []));
    expect(causes.filter(([replicas, cause]) => replicas === 1 && cause === "held").length).toBeGreaterThanOrEqual(3);
    expect(causes.filter(([replicas, cause]) => replicas === 0 && cause === "idle")).toHaveLength(3);
  });

  it("rolls the slow revision back by a verdict, and completes the other one in steps before it", () => {
    const ended = events.flatMap((event) =>
      event.kind === "rolloutEnded" ? [[event.outcome, event.ground.kind]] : [],
    );
    expect(ended).toEqual([
      ["completed", "ready"],
      ["rolledBack", "verdict"],
    ]);
    const steps = events.flatMap((event) => (event.kind === "rolloutSteered" ? [event.action] : []));
    expect(steps.slice(0, 3)).toEqual(["advance", "advance", "advance"]);
  });

  it("shows readings, replicas with addresses and a rollout in progress, in the form of the API", async () => {
    passTo(DEPLOYED_AT_MS + 3.17 * WAVE_MS);
    const list = await client.endpoints();
    expect(operations.endpoints.response.safeParse(list).error?.issues ?? []).toEqual([]);
    const [chat] = list.items;
    expect(chat).toMatchObject({ name: "chat", revision: 2, rollout: { number: 3 }, load: { gateways: 1 } });
    expect(chat?.list.some(({ address }) => address !== null)).toBe(true);
    expect(chat?.budget).toMatchObject({ period: "day", over: "minimum", microUsd: 240_000_000 });
    expect(chat?.budget?.spentMicroUsd).toBeGreaterThan(0);
    const followed = { name: "requestsQueued", source: "engines", target: 16, gap: null };
    expect(chat?.scaling?.metrics).toMatchObject([followed]);
    expect(chat?.scaling?.metrics?.[0]?.atMs).toBeGreaterThan(list.nowMs - 60_000);
    expect(chat?.scaling?.sentence).not.toBe("");
    const types = chat?.scaling?.types ?? [];
    expect(types.map(({ type }) => type).toSorted()).toEqual(["H100-SXM", "H200-SXM"]);
    expect(types.some(({ isPredicted }) => !isPredicted)).toBe(true);
    const { items } = await client.workloadHistory(chat?.workloadId ?? "");
    expect(items.some(({ sentence }) => /requests in progress, target 32 for each replica/.test(sentence))).toBe(true);
  });

  it("obeys a user who ends the rollout", async () => {
    const id = (await client.endpoints()).items[0]?.workloadId ?? "";
    expect(await client.steerRollout(id, { action: "rollBack" })).toEqual({ workloadId: id, changed: true });
    expect((await client.endpoints()).items[0]?.rollout).toBeNull();
    await expect(client.steerRollout(id, { action: "promote" })).rejects.toMatchObject({ code: "noRollout" });
  });
});
