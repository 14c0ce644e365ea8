/**
 * Tests a complete control plane with real processes, next to jobs that modify, remove and forge all records that they
 * can reach.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { someOf } from "../../../../tools/testing/rotating.ts";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

type Workload = Awaited<ReturnType<LiveControlPlane["client"]["getWorkload"]>>;

async function submitted({ client }: LiveControlPlane, run: string): Promise<string> {
  const gang = { workers: 1, accelerators: 1 };
  const retries = { max: 0, backoffMs: 0, backoffMaxMs: 0 };
  return (await client.submitWorkload({ kind: "train", name: "job", run, gang, retries })).workloadId;
}

async function ended({ client }: LiveControlPlane, workloadId: string): Promise<Workload> {
  for await (const { event } of client.events())
    if (event.kind === "workloadEnded" && event.workloadId === workloadId) break;
  return client.getWorkload(workloadId);
}

const attemptsDir = (): string => path.join(home, "attempts");

const jobs: readonly (readonly [string, string])[] = [
  ["echo { > exit.json", "succeeded"],
  [`echo '{"version":2}' > exit.json; exit 3`, "failed"],
  ["rm -rf ./*; exit 0", "succeeded"],
  ['cd ../..; rm -rf "$PWD"; exit 4', "failed"],
];

it.each(someOf(jobs, { parts: 4 }))(
  "a job that runs `%s` has %s once, holds nothing, and hinders no start",
  async (run, phase) => {
    const first = await startLive(home);
    const workload = await ended(first, await submitted(first, run));
    expect(workload).toMatchObject({ phase, attempts: [{ outcome: phase }] });
    await first.close();
    const second = await startLive(home);
    expect(await second.client.getWorkload(workload.id)).toMatchObject({ phase, attempts: [{ outcome: phase }] });
    const { items } = await second.client.listNodes();
    expect(items.map(({ holders }) => holders)).toEqual([[]]);
    expect([...first.complaints, ...second.complaints]).toEqual([]);
    await second.close();
  },
);

it("records that were tampered with by their absolute path are one lost attempt, with retries.max 0 the last", async () => {
  const first = await startLive(home);
  const forged = `echo '{"version":2}' > ${attemptsDir()}/$HEADROOM_ATTEMPT_ID/exit.json; exec sleep 600`;
  const workload = await ended(first, await submitted(first, forged));
  expect(workload).toMatchObject({
    phase: "failed",
    endReason: { kind: "retriesExhausted", failures: 1 },
    attempts: [{ outcome: "lost", detail: expect.stringContaining("unreadable") }],
  });
  expect(first.complaints.join("\n")).toContain("is lost");
  await first.close();
  const second = await startLive(home);
  expect((await second.client.getWorkload(workload.id)).phase).toBe("failed");
  await second.close();
});

it("records that are damaged while no control plane runs do not hinder its start", async () => {
  const first = await startLive(home);
  const workloadId = await submitted(first, "exec sleep 600");
  for await (const { event } of first.client.events()) if (event.kind === "attemptStarted") break;
  await first.close();
  const file = path.join(attemptsDir(), `${workloadId}.1`, "launch.json");
  expect(existsSync(file)).toBe(true);
  writeFileSync(file, readFileSync(file, "utf8").slice(0, 100));
  const second = await startLive(home);
  expect(await ended(second, workloadId)).toMatchObject({ phase: "failed", attempts: [{ outcome: "lost" }] });
  await second.close();
});
