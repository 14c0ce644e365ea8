/** Tests with a complete control plane and real processes that ended attempts are removed and active ones are not. */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

const keptNames = (): string[] =>
  readdirSync(path.join(home, "attempts"))
    .filter((name) => !name.startsWith("."))
    .toSorted();

/** Runs a workload to its end and returns the attempt's id. */
async function ranToItsEnd({ client }: LiveControlPlane, name: string): Promise<string> {
  const { workloadId } = await client.submitWorkload({ kind: "train", name, run: "true" });
  for await (const { event } of client.events()) {
    if (event.kind === "workloadEnded" && event.workloadId === workloadId) break;
  }
  const [attempt] = (await client.getWorkload(workloadId)).attempts;
  return attempt?.id ?? "";
}

/** The end of an attempt is recorded before surplus attempts are removed. */
async function untilKept(names: readonly string[]): Promise<void> {
  const expected = names.toSorted().join();
  while (keptNames().join() !== expected) await new Promise(setImmediate);
}

async function held({ client }: LiveControlPlane): Promise<{ workloadId: string; attemptId: string }> {
  const { workloadId } = await client.submitWorkload({ kind: "train", name: "held", run: "exec sleep 600" });
  for await (const { event } of client.events()) {
    if (event.kind === "attemptStarted" && (await client.getWorkload(workloadId)).phase === "running") break;
  }
  const [attempt] = (await client.getWorkload(workloadId)).attempts;
  return { workloadId, attemptId: attempt?.id ?? "" };
}

describe("what ended attempts leave", () => {
  it("goes as newer ones end, and at the next start; what runs stays, however old", async () => {
    const first = await startLive(home, { retention: { keptMax: 2 } });
    const { workloadId, attemptId } = await held(first);
    const ended: string[] = [];
    for (const name of ["a", "b", "c", "d"]) ended.push(await ranToItsEnd(first, name));
    await untilKept([attemptId, ...ended.slice(-2)]);
    await first.close();

    // Leaves a directory half removed, as a process that dies during the removal would.
    const half = path.join(home, "attempts", ".forgotten-old");
    mkdirSync(half);
    const second = await startLive(home, { retention: { keptMax: 1 } });
    await untilKept([attemptId, ...ended.slice(-1)]);
    expect(existsSync(half)).toBe(false);
    expect((await second.client.getWorkload(workloadId)).phase).toBe("running");
    await second.client.stopWorkload(workloadId);
    for await (const { event } of second.client.events()) {
      if (event.kind === "workloadEnded" && event.workloadId === workloadId) break;
    }
    expect([...first.complaints, ...second.complaints]).toEqual([]);
    await second.close();
  });

  it("goes with age too, but for the newest, which tells the next start how far the journal reached", async () => {
    const first = await startLive(home);
    await ranToItsEnd(first, "a");
    const newest = await ranToItsEnd(first, "b");
    expect(keptNames()).toHaveLength(2);
    await first.close();
    const second = await startLive(home, { retention: { keptMs: -1 } });
    await untilKept([newest]);
    expect(second.complaints).toEqual([]);
    await second.close();
  });
});
