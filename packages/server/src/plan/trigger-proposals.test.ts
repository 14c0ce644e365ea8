/** Triggers of a real control plane: one proposal for each, over a restart and a rejection, and withdrawn when the trigger ends. */
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

const options = { local: { nodeName: "n", slotCount: 2, accelerators: "declared" }, triggersEveryMs: 200 } as const;
/** The first simulation starts a thread, which takes long on a busy machine. */
const POLL = { timeout: 90_000 };

let live: LiveControlPlane;
beforeEach(async () => (live = await startLive(temporaryHome(), options)));
afterEach(async () => {
  await live.close();
  removeHome(live.home);
});

const declare = (above: number, propose: string): void =>
  writeFileSync(
    path.join(live.home, "triggers.yaml"),
    `kind: triggers
triggers:
  - { name: long queue, on: queueAge, above: ${above}, below: ${above}, action: order nodes, propose: ${propose} }
  - { name: ask, on: queueAge, above: ${above}, below: ${above}, action: ask for quotes }
`,
  );
const all = async () => (await live.client.listProposals({ all: true })).items;
const phases = async () => (await all()).map(({ phase }) => phase).toSorted();

it("makes one proposal while a trigger is active, and withdraws it when the trigger ends", async () => {
  const pool = (await live.client.listNodes()).items[0]?.pool ?? "";
  declare(-1, `{ order: { pool: ${pool}, nodes: 2, leadTime: { p50: 4w, p95: 8w } } }`);
  await expect.poll(phases, POLL).toEqual(["simulated", "simulated"]);
  const [order, advice] = (await all()).toSorted((left, right) => right.change.kind.localeCompare(left.change.kind));
  expect(order).toMatchObject({
    actor: "headroom",
    agent: "triggers",
    change: { kind: "order", order: { pool, nodeCount: 2, arrival: { p50Ms: 28 * 86_400_000 } } },
    reason: "trigger long queue fired: queueAge was above -1 for 0 h; order nodes",
  });
  expect(order?.ground).toContainEqual({ measure: "threshold", value: -1, unit: "h" });
  expect(advice).toMatchObject({ change: { kind: "advice", about: "trigger ask", text: "ask for quotes" } });
  await expect(live.client.decideProposal(advice?.id ?? "", { verdict: "approve" })).rejects.toMatchObject({
    code: "proposalOnlyAdvises",
  });
  await live.client.decideProposal(advice?.id ?? "", { verdict: "reject" });

  const { home } = live;
  await live.close();
  live = await startLive(home, options);
  // A trigger that fires after the restart shows that the others were looked at.
  await expect.poll(phases, POLL).toEqual(["rejected", "simulated"]);
  declare(5, `{ order: { pool: ${pool}, nodes: 2, leadTime: 4w } }`);
  await expect.poll(phases, POLL).toEqual(["rejected", "withdrawn"]);
  expect(await live.client.listCapacityOrders()).toMatchObject({ items: [] });
  expect(live.complaints).toEqual([]);
}, 240_000);

it("records a planned order once another user approves it, and names a change that is refused", async () => {
  const pool = (await live.client.listNodes()).items[0]?.pool ?? "";
  declare(-1, "{ order: { pool: none, nodes: 2, leadTime: 4w } }");
  await expect.poll(() => live.complaints, POLL).toHaveLength(1);
  expect(live.complaints[0]).toMatch(/the change is refused: unknownPool/);
  declare(-1, `{ order: { pool: ${pool}, nodes: 2, leadTime: 4w } }`);
  await expect.poll(async () => (await phases()).filter((phase) => phase === "simulated").length, POLL).toBe(2);
  const order = (await all()).find(({ change }) => change.kind === "order");
  await live.client.decideProposal(order?.id ?? "", { verdict: "approve" });
  await expect
    .poll(async () => (await live.client.listCapacityOrders()).items, POLL)
    .toMatchObject([{ name: expect.stringMatching(/^long-queue-\d{8}$/), phase: "planned", nodeCount: 2, pool }]);
  expect((await live.client.listNodes()).items).toHaveLength(1);
}, 240_000);

it("fires on the stored plan, and withdraws its proposal once the document is removed", async () => {
  const pool = (await live.client.listNodes()).items[0]?.pool ?? "";
  const start = new Date().toISOString().slice(0, 7);
  await live.client.storePlan({
    plan: {
      kind: "plan",
      name: "small",
      start,
      months: 4,
      demand: { [pool]: { p50: [2, 4, 8, 8] } },
      options: [{ kind: "rent", name: "rented", pool, leadTime: "70d", monthlyUsd: 100, block: 1 }],
    },
  });
  const file = path.join(live.home, "triggers.yaml");
  writeFileSync(
    file,
    `kind: triggers
triggers:
  - { name: short, on: forecast, above: 1, action: order now }
  - { name: coming, on: pipeline, above: 2, action: ask for dates }
  - { name: far, on: forecast, above: 1000 }
`,
  );
  await expect
    .poll(async () => (await all()).map(({ reason }) => reason).toSorted(), POLL)
    .toEqual([
      "trigger coming fired: pipeline was above 2 for 0 h; ask for dates",
      "trigger short fired: forecast was above 1 for 0 h; order now",
    ]);
  expect((await all()).flatMap(({ ground }) => ground)).toContainEqual({ measure: "pipeline", value: 3, unit: "" });
  rmSync(file);
  await expect.poll(phases, POLL).toEqual(["withdrawn", "withdrawn"]);
}, 240_000);
