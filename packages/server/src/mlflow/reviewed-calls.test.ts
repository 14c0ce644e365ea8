/** Answers that differ from MLflow's own in the details that its clients rely on. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { mlflowClient } from "./testing/mlflow-client.ts";
import type { MlflowClient } from "./testing/mlflow-client.ts";

let live: LiveControlPlane;
let call: MlflowClient;
beforeAll(async () => {
  live = await startLive(temporaryHome());
  call = mlflowClient(live);
});
afterAll(async () => {
  expect(live.complaints).toEqual([]);
  await live.close();
  removeHome(live.home);
});

const downloadUri = async (name: string, version: string): Promise<unknown> =>
  (await call("GET", "model-versions/get-download-uri", { name, version })).body.artifact_uri;

it("resolves the source models:/… once, so that a version survives the one that it was copied from", async () => {
  for (const name of ["from", "to"]) await call("POST", "registered-models/create", { name });
  await call("POST", "model-versions/create", { name: "from", source: "s3://models/from/1" });
  const copied = await call("POST", "model-versions/create", { name: "to", source: "models:/from/1" });
  expect(copied.body.model_version).toMatchObject({ version: "1", source: "models:/from/1" });
  await call("POST", "model-versions/create", { name: "to", source: "models:/to/1" });
  await call("DELETE", "registered-models/delete", { name: "from" });
  expect([await downloadUri("to", "1"), await downloadUri("to", "2")]).toEqual([
    "s3://models/from/1",
    "s3://models/from/1",
  ]);
  for (const [source, status] of [
    ["models:/from/1", 404],
    ["models:/to/9", 404],
    ["models:/to/latest", 400],
    ["models:/to@production", 404],
    ["models:/", 400],
    ["models:/a/b/c", 400],
    ["models:/m-none", 404],
  ] as const)
    expect([source, (await call("POST", "model-versions/create", { name: "to", source })).status]).toEqual([
      source,
      status,
    ]);
});

it("registers a logged model under its files and its run", async () => {
  const run_id = (await call("POST", "runs/create", {})).body.run.info.run_id as string;
  const { model } = (await call("POST", "logged-models", { experiment_id: "0", source_run_id: run_id })).body;
  const { model_id, artifact_uri } = model.info as { model_id: string; artifact_uri: string };
  await call("POST", "registered-models/create", { name: "logged" });
  const byUri = await call("POST", "model-versions/create", { name: "logged", source: `models:/${model_id}` });
  expect(byUri.body.model_version).toMatchObject({ run_id, model_id });
  expect(await downloadUri("logged", "1")).toBe(artifact_uri);
  const byId = await call("POST", "model-versions/create", { name: "logged", source: artifact_uri, model_id });
  expect(byId.body.model_version).toMatchObject({ run_id, model_id });
  expect((await call("POST", "runs/log-inputs", { run_id, models: [{ model_id }] })).status).toBe(200);
  expect((await call("GET", "runs/get", { run_id })).body.run.inputs).toEqual({
    dataset_inputs: [],
    model_inputs: [{ model_id }],
  });
});

it("gives a version nothing of a deleted one whose row had the same number", async () => {
  await call("POST", "registered-models/create", { name: "again" });
  await call("POST", "model-versions/create", { name: "again", source: "s3://a" });
  await call("POST", "model-versions/create", { name: "again", source: "models:/again/1" });
  await call("DELETE", "model-versions/delete", { name: "again", version: "2" });
  await call("POST", "model-versions/create", { name: "again", source: "s3://b" });
  expect(await downloadUri("again", "3")).toBe("s3://b");
});

it("bounds the data sets of a run, because each answer with the run has all of them", async () => {
  const run_id = (await call("POST", "runs/create", {})).body.run.info.run_id as string;
  const statuses: number[] = [];
  for (let number = 0; number < 10; number++) {
    const dataset = { name: "d", digest: `${number}`, source_type: "s", source: "x", profile: "p".repeat(1_000_000) };
    statuses.push((await call("POST", "runs/log-inputs", { run_id, datasets: [{ dataset }] })).status);
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(8);
  expect((await call("GET", "runs/get", { run_id })).body.run.inputs.dataset_inputs).toHaveLength(8);
});

it("lists experiments by their creation, and requires the name of an update", async () => {
  const { experiment_id } = (await call("POST", "experiments/create", { name: "older" })).body;
  await call("POST", "experiments/create", { name: "newer" });
  await call("POST", "experiments/update", { experiment_id, new_name: "oldest" });
  const { experiments } = (await call("GET", "experiments/search")).body;
  expect((experiments as { name: string }[]).map(({ name }) => name)).toEqual(["newer", "oldest", "Default"]);
  expect((await call("POST", "experiments/update", { experiment_id })).status).toBe(400);
});

it("refuses stages and versions that do not exist, and reads fractions without a zero", async () => {
  const stages = ["Live"];
  expect((await call("POST", "registered-models/get-latest-versions", { name: "to", stages })).status).toBe(400);
  for (const version of ["0x1", "1e0", " 1", "1.0", "-1"])
    expect((await call("GET", "model-versions/get", { name: "to", version })).status).toBe(400);
  const found = { experiment_ids: ["0"], filter: "metrics.loss < .5" };
  expect((await call("POST", "runs/search", found)).status).toBe(200);
});
