import { afterAll, beforeAll, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let home: string;
let live: LiveControlPlane;

beforeAll(async () => {
  home = temporaryHome();
  live = await startLive(home, {});
});
afterAll(async () => {
  await live.close();
  removeHome(home);
});

const held = (name: string) =>
  ({ kind: "train", name, run: "true", gang: { coresMilli: 0 }, hold: true, env: { SECRET: "x" } }) as const;

it("changes fields in place, keeps the first answer of an idempotency key, and records who changed what", async () => {
  const { client } = live;
  const { workloadId } = await client.submitWorkload(held("one"));
  const changes = { walltimeMs: 7_200_000, priority: 5, retries: { max: 7 }, env: { SECRET: null, OTHER: "y" } };
  const trial = await client.changeWorkload(workloadId, changes, { dryRun: true });
  expect(trial).toMatchObject({ dryRun: true, start: { before: { p50AtMs: null }, after: { p50AtMs: null } } });
  expect((await client.getWorkload(workloadId)).spec.priority).toBe(0);
  const done = await client.changeWorkload(workloadId, changes, { idempotencyKey: "k" });
  expect(done.changes).toEqual([
    { field: "priority", before: "0", after: "5" },
    { field: "walltime", before: "unlimited", after: "2 h" },
    expect.objectContaining({ field: "retries" }),
    { field: "env.SECRET", before: "set", after: null },
    { field: "env.OTHER", before: null, after: "set" },
  ]);
  await client.changeWorkload(workloadId, changes, { idempotencyKey: "k" });
  await expect(client.changeWorkload(workloadId, { priority: 6 }, { idempotencyKey: "k" })).rejects.toMatchObject({
    code: "idempotencyKeyReused",
  });
  const { spec } = await client.getWorkload(workloadId);
  expect(spec).toMatchObject({ priority: 5, walltimeMs: 7_200_000, retries: { max: 7 }, env: { OTHER: "y" } });
  const { items } = await client.workloadHistory(workloadId);
  expect(JSON.stringify(items)).toContain("changed it: priority 5");
});

it("refuses what would break a rule, what has ended, and unknown fields", async () => {
  const { client } = live;
  const { workloadId } = await client.submitWorkload(held("two"));
  await expect(client.changeWorkload(workloadId, { minWorkers: 3 })).rejects.toMatchObject({ code: "invalidRequest" });
  await expect(client.changeWorkload(workloadId, { run: "false" })).rejects.toMatchObject({ code: "cannotChange" });
  await expect(client.changeWorkload(workloadId, { gang: {} } as never)).rejects.toMatchObject({
    code: "invalidRequest",
  });
  await expect(client.changeWorkload(workloadId, {})).rejects.toMatchObject({ code: "invalidRequest" });
  await expect(client.changeWorkload("w999", { priority: 1 })).rejects.toMatchObject({ code: "unknownWorkload" });
  await client.stopWorkload(workloadId);
  await expect(client.changeWorkload(workloadId, { priority: 1 })).rejects.toMatchObject({ code: "workloadEnded" });
});

it("applies a changed file in place, and names the fields that need a new workload", async () => {
  const { client } = live;
  const spec = held("three");
  const { workloadId } = await client.submitWorkload(spec);
  const plan = await client.apply({ workloads: [{ ...spec, priority: 9 }] }, { dryRun: true });
  expect(plan.changes).toMatchObject([{ action: "changed", workloadId, fields: ["priority"] }]);
  const done = await client.apply({ workloads: [{ ...spec, priority: 9 }] });
  expect(done.changes).toMatchObject([{ action: "changed", workloadId }]);
  const again = await client.apply({ workloads: [{ ...spec, priority: 9 }] });
  expect(again.changes).toMatchObject([{ action: "unchanged", workloadId }]);
  await expect(client.apply({ workloads: [{ ...spec, run: "false" }] })).rejects.toMatchObject({
    code: "workloadActive",
    problem: { facts: { fields: ["run"] } },
  });
});
