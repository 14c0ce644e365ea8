import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { backUp } from "../backup/backup.ts";
import { restore } from "../backup/restore.ts";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { mlflowClient } from "./testing/mlflow-client.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

it("shows the metrics of a run as curves of the attempt whose environment the run was started in", async () => {
  const file = path.join(live.home, "context.json");
  const run = `printf %s "$MLFLOW_RUN_CONTEXT" > ${file}.draft; mv ${file}.draft ${file}; exec sleep 600`;
  const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "logged", run, gang: {} });
  await expect.poll(() => statSync(file, { throwIfNoEntry: false })?.size, { timeout: 10_000 }).toBeGreaterThan(2);
  const context = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, string>>;
  expect(context["headroom.workload_id"]).toBe(workloadId);
  const call = mlflowClient(live);
  const tags = Object.entries(context).map(([key, value]) => ({ key, value }));
  const { run_id } = (await call("POST", "runs/create", { tags })).body.run.info as { run_id: string };
  const metrics = [1, 2, 3].map((step) => ({ key: "loss", value: 4 - step, timestamp: step, step }));
  expect((await call("POST", "runs/log-batch", { run_id, metrics })).status).toBe(200);
  const [attempt] = (await live.client.metrics(workloadId)).items;
  // Reports that arrive at once are one point of the series, with their mean.
  expect(attempt?.progress.map(({ step, metrics: { loss } }) => [step, loss])).toEqual([[3, 2]]);
  const found = { experiment_ids: ["0"], filter: `tags."headroom.workload_id" = '${workloadId}'` };
  expect((await call("POST", "runs/search", found)).body.runs).toHaveLength(1);
  await live.client.stopWorkload(workloadId);
});

it("is carried by a backup of a running control plane, and a restore replaces what came later", async () => {
  const call = mlflowClient(live);
  await call("POST", "registered-models/create", { name: "kept" });
  const backup = temporaryHome();
  await backUp(live.home, backup, "test");
  await call("POST", "registered-models/create", { name: "later" });
  await live.close();
  restore({ source: backup, home: live.home, replaces: true });
  live = await startLive(live.home);
  const { registered_models } = (await mlflowClient(live)("GET", "registered-models/search")).body;
  expect(registered_models).toMatchObject([{ name: "kept" }]);
  removeHome(backup);
});
