import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Replay } from "@headroom/protocol";
import { removeHome, startLive, temporaryHome, type LiveControlPlane } from "../api/testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

async function outcome(id: string): Promise<Replay> {
  for (;;) {
    const replay = await live.client.replay(id);
    if (replay.phase !== "running") return replay;
    await delay(20);
  }
}

/** Runs three workloads on two slots, so that the third waits. */
async function runThree(): Promise<void> {
  const ids: string[] = [];
  for (const name of ["a", "b", "c"]) {
    const gang = { accelerators: 1, coresMilli: 0, memoryMib: 0 };
    ids.push((await live.client.submitWorkload({ kind: "train", name, run: "sleep 0.3", gang })).workloadId);
  }
  const open = new Set(ids);
  for await (const { event } of live.driver.events(1, AbortSignal.timeout(20_000))) {
    if (event.kind === "workloadEnded") open.delete(event.workloadId);
    if (open.size === 0) return;
  }
}

describe("replays", () => {
  it("decide again what the journal kept, beside what happened, and record nothing", async () => {
    await runThree();
    const before = (await live.client.status()).sequence;
    const { id } = await live.client.startReplay({ policy: { preset: "fifo" } });
    const replay = await outcome(id);
    if (replay.phase !== "done") throw new Error(JSON.stringify(replay));
    const { recorded, control, changed, teams, users, sizes, sentence, notes } = replay.report;
    expect(recorded).toMatchObject({ workloads: 3, started: 3, endedCount: 3 });
    expect(recorded.waitP95Ms).toBeGreaterThanOrEqual(250);
    // In a simulated timeline the last workload can end slightly later than recorded, and so after the period.
    for (const timeline of [control, changed]) {
      expect(timeline.workloads).toBe(3);
      expect(timeline.endedCount).toBeGreaterThanOrEqual(2);
      expect(timeline.waitP95Ms).toBeGreaterThanOrEqual(200);
    }
    expect([teams, users, sizes].map((groups) => groups.map(({ name }) => name))).toEqual([
      ["default"],
      [expect.any(String)],
      ["1"],
    ]);
    expect(sentence).toContain("3 workloads would have waited");
    expect(notes[0]).toContain("The difference is the error of the replay");
    expect((await live.client.status()).sequence).toBe(before);
  });

  it("refuse what cannot be tried, and what is not there", async () => {
    await expect(live.client.startReplay({ policy: { preset: "nobodys" } })).rejects.toMatchObject({
      code: "unknownPreset",
    });
    const orphan = { name: "x", parent: "nobody", limit: {} };
    await expect(live.client.startReplay({ teams: [orphan] })).rejects.toMatchObject({ code: "unknownTeam" });
    await expect(live.client.replay("replay-999")).rejects.toMatchObject({ code: "unknownReplay" });
    const { id } = await live.client.startReplay({ policy: { preset: "fifo" } });
    expect(await live.client.cancelReplay(id)).toEqual({ id });
    await expect(live.client.replay(id)).rejects.toMatchObject({ code: "unknownReplay" });
  });
});
