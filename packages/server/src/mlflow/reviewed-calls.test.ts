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

it("answers questions about several runs, and filters runs by their data sets", async () => {
  const experiment = (await call("POST", "experiments/create", { name: "several" })).body.experiment_id;
  const ids: string[] = [];
  for (const name of ["corpus", "eval"]) {
    const { run } = (await call("POST", "runs/create", { experiment_id: experiment, run_name: name })).body;
    const id = run.info.run_id as string;
    ids.push(id);
    const metrics = Array.from({ length: 100 }, (_, step) => ({ key: "loss", value: step, timestamp: step, step }));
    await call("POST", "runs/log-batch", { run_id: id, metrics });
    const inputs = ["corpus", name].map((each) => ({
      tags: [{ key: "mlflow.data.context", value: each === "corpus" ? "training" : "validation" }],
      dataset: { name: each, digest: "d1", source_type: "local", source: "{}" },
    }));
    await call("POST", "runs/log-inputs", { run_id: id, datasets: inputs });
  }
  const found = async (filter: string): Promise<unknown> => {
    const { status, body } = await call("POST", "runs/search", { experiment_ids: [experiment], filter });
    return status === 200 ? body.runs.map((each: { info: { run_name: string } }) => each.info.run_name) : status;
  };
  expect(await found("dataset.name = 'eval'")).toEqual(["eval"]);
  expect(await found("datasets.name IN ('corpus', 'x') AND dataset.context = 'validation'")).toEqual(["eval"]);
  expect(await found("dataset.digest LIKE 'd%' AND metrics.loss >= 99")).toHaveLength(2);
  expect(await found("dataset.name = 'none'")).toEqual([]);
  expect(await found("dataset.source = 'x'")).toBe(400);
  const ordered = { experiment_ids: [experiment], order_by: ["dataset.name"] };
  expect(await call("POST", "runs/search", ordered)).toMatchObject({ status: 400 });

  const sampled = { run_ids: ids, metric_key: "loss", max_results: 10 };
  const { metrics } = (await call("GET", "metrics/get-history-bulk-interval", sampled)).body;
  const steps = metrics.filter((each: { run_id: string }) => each.run_id === ids[0]);
  expect(steps.map(({ step }: { step: number }) => step)).toEqual([0, 20, 40, 60, 80, 99]);
  const part = { ...sampled, start_step: 10, end_step: 12 };
  expect((await call("GET", "metrics/get-history-bulk-interval", part)).body.metrics).toHaveLength(6);
  const whole = { run_id: ids, metric_key: "loss", max_results: 150 };
  expect((await call("GET", "metrics/get-history-bulk", whole)).body.metrics).toHaveLength(150);
  for (const wrong of [{ metric_key: "loss" }, { ...part, end_step: 1 }, { ...sampled, start_step: 1 }])
    expect(await call("GET", "metrics/get-history-bulk-interval", wrong)).toMatchObject({ status: 400 });
  const summaries = (await call("POST", "experiments/search-datasets", { experiment_ids: [experiment] })).body;
  expect(summaries.dataset_summaries).toEqual([
    { experiment_id: experiment, name: "corpus", digest: "d1", context: "training" },
    { experiment_id: experiment, name: "eval", digest: "d1", context: "validation" },
  ]);
  expect((await call("GET", "registered-models/list")).status).toBe(200);
});

it("samples long histories up to their last step", async () => {
  const run_id = (await call("POST", "runs/create", {})).body.run.info.run_id as string;
  const count = 26_000;
  for (let from = 0; from < count; from += 1_000) {
    const metrics = Array.from({ length: 1_000 }, (_, at) => from + at);
    const points = metrics.map((step) => ({ key: "loss", value: step, timestamp: step, step }));
    expect((await call("POST", "runs/log-batch", { run_id, metrics: points })).status).toBe(200);
  }
  const sampled = { run_ids: [run_id], metric_key: "loss", max_results: 4 };
  const { metrics } = (await call("GET", "metrics/get-history-bulk-interval", sampled)).body;
  expect(metrics.map(({ step }: { step: number }) => step)).toEqual([0, 6_500, 13_000, 19_500, 25_999]);
});
