import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
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

it("keeps no artifacts of work with a data rule, neither of its runs nor of their models", async () => {
  const spec = { kind: "train", run: "true", gang: {} } as const;
  const ids = await Promise.all(
    [
      { ...spec, name: "ruled", data: { rule: "restricted" } },
      { ...spec, name: "free" },
    ].map(async (each) => (await live.client.submitWorkload(each)).workloadId),
  );
  const call = mlflowClient(live);
  const put = async (artifact: string) => {
    const url = `/api/2.0/mlflow-artifacts/artifacts/${artifact}`;
    const answer = await live.request(url, { method: "PUT", body: "x".repeat(100_000) });
    return { status: answer.status, text: await answer.text() };
  };
  const place = (uri: string): string => uri.replace("mlflow-artifacts:/", "");
  for (const [index, id] of ids.entries()) {
    const tags = [{ key: "headroom.workload_id", value: id }];
    const { run_id, artifact_uri } = (await call("POST", "runs/create", { tags })).body.run.info as {
      run_id: string;
      artifact_uri: string;
    };
    const created = await call("POST", "logged-models", { experiment_id: "0", source_run_id: run_id });
    const { artifact_uri: ofModel } = created.body.model.info as { artifact_uri: string };
    for (const uri of [artifact_uri, ofModel]) {
      const { status, text } = await put(`${place(uri)}/weights.bin`);
      expect(status).toBe(index === 0 ? 403 : 200);
      if (index === 0) expect(text).toMatch(/The data of ruled has the rule restricted.*artifact_location/);
    }
  }
});

it("gives out no artifacts that came before their run was linked to work with a data rule", async () => {
  const spec = { kind: "train", run: "true", gang: {}, data: { rule: "restricted" } } as const;
  const { workloadId } = await live.client.submitWorkload({ ...spec, name: "late" });
  const call = mlflowClient(live);
  const { run_id, artifact_uri } = (await call("POST", "runs/create", {})).body.run.info as {
    run_id: string;
    artifact_uri: string;
  };
  const url = `/api/2.0/mlflow-artifacts/artifacts/${artifact_uri.replace("mlflow-artifacts:/", "")}/weights.bin`;
  expect((await live.request(url, { method: "PUT", body: "x" })).status).toBe(200);
  expect(await (await live.request(url)).text()).toBe("x");
  const tag = { run_id, key: "headroom.workload_id", value: workloadId };
  expect((await call("POST", "runs/set-tag", tag)).status).toBe(200);
  const database = new DatabaseSync(path.join(live.home, "mlflow", "mlflow.db"), { readOnly: true });
  const linked = database.prepare("SELECT rule FROM workload_link WHERE workload = ?").get(workloadId);
  database.close();
  expect(linked).toEqual({ rule: "restricted" });
  const refused = await live.request(url);
  expect(refused.status).toBe(403);
  expect(await refused.text()).toMatch(/The data of late has the rule restricted.*not given out/);
  expect((await call("POST", "runs/delete-tag", { run_id, key: tag.key })).status).toBe(200);
  expect((await live.request(url)).status).toBe(403);
  expect((await live.request(url, { method: "DELETE" })).status).toBe(200);
});

it("is carried by a backup of a running control plane, and a restore replaces what came later", async () => {
  const call = mlflowClient(live);
  const spec = { kind: "train", run: "true", gang: {}, data: { rule: "restricted" } } as const;
  const { workloadId } = await live.client.submitWorkload({ ...spec, name: "earlier" });
  await call("POST", "runs/create", { tags: [{ key: "headroom.workload_id", value: workloadId }] });
  await call("POST", "registered-models/create", { name: "kept" });
  const backup = temporaryHome();
  await backUp(live.home, backup, "test");
  await call("POST", "registered-models/create", { name: "later" });
  await live.close();
  restore({ source: backup, home: live.home, replaces: true });
  // Earlier builds recorded no rules; the start does.
  const database = new DatabaseSync(path.join(live.home, "mlflow", "mlflow.db"));
  database.exec("DELETE FROM workload_link");
  live = await startLive(live.home);
  const { registered_models } = (await mlflowClient(live)("GET", "registered-models/search")).body;
  expect(registered_models).toMatchObject([{ name: "kept" }]);
  const recorded = database.prepare("SELECT rule FROM workload_link WHERE workload = ?");
  await expect.poll(() => recorded.get(workloadId)).toEqual({ rule: "restricted" });
  database.close();
  removeHome(backup);
});
