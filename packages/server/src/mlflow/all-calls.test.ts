/**
 * Every call of the API, as the examples of MLflow's documentation and the npm package `mlflow` 2.0.7 send it, with the
 * essential part of its answer. The package itself is not a dependency: it is old and prints every request.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { mlflowClient } from "./testing/mlflow-client.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  expect(live.complaints).toEqual([]);
  await live.close();
  removeHome(live.home);
});

type Expected = object | "RESOURCE_DOES_NOT_EXIST" | "RESOURCE_ALREADY_EXISTS" | "INVALID_PARAMETER_VALUE";
type Step = readonly [method: string, path: string, fields: object, expected: Expected];

interface Called {
  readonly path: string;
  readonly fields: object;
  readonly status: number;
  readonly body: object;
}

async function repliesTo(steps: readonly Step[]): Promise<readonly Called[]> {
  const call = mlflowClient(live);
  const replies: Called[] = [];
  for (const [method, path, fields] of steps) replies.push({ path, fields, ...(await call(method, path, fields)) });
  return replies;
}

const expectedOf = (steps: readonly Step[]): Called[] =>
  steps.map(([, path, fields, expected]) => {
    if (typeof expected !== "string") return { path, fields, status: 200, body: expected };
    const status = expected === "RESOURCE_DOES_NOT_EXIST" ? 404 : 400;
    return { path, fields, status, body: { error_code: expected, message: expect.any(String) as string } };
  });

it("answers the calls on experiments", async () => {
  const steps: readonly Step[] = [
    ["GET", "experiments/list", {}, { experiments: [{ experiment_id: "0", name: "Default" }] }],
    ["POST", "experiments/create", { name: "e1" }, { experiment_id: "1" }],
    ["POST", "experiments/create", { name: "e1" }, "RESOURCE_ALREADY_EXISTS"],
    ["POST", "experiments/create", {}, "INVALID_PARAMETER_VALUE"],
    ["GET", "experiments/get", { experiment_id: 1 }, { experiment: { name: "e1", lifecycle_stage: "active" } }],
    ["GET", "experiments/get", { experiment_id: 77 }, "RESOURCE_DOES_NOT_EXIST"],
    ["GET", "experiments/get-by-name", { experiment_name: "e1" }, { experiment: { experiment_id: "1" } }],
    ["GET", "experiments/get-by-name", { experiment_name: "e?" }, "RESOURCE_DOES_NOT_EXIST"],
    ["POST", "experiments/update", { experiment_id: "1", new_name: "e2" }, {}],
    ["POST", "experiments/set-experiment-tag", { experiment_id: "1", key: "a", value: "1" }, {}],
    ["POST", "experimentsset-experiment-tag", { experiment_id: "1", key: "b", value: "2" }, {}],
    ["POST", "experiments/delete-experiment-tag", { experiment_id: "1", key: "b" }, {}],
    [
      "GET",
      "experiments/get",
      { experiment_id: "1" },
      { experiment: { name: "e2", tags: [{ key: "a", value: "1" }] } },
    ],
    ["POST", "experiments/delete", { experiment_id: "1" }, {}],
    ["GET", "experiments/list", { view_type: "DELETED_ONLY" }, { experiments: [{ experiment_id: "1" }] }],
    ["POST", "experiments/restore", { experiment_id: "1" }, {}],
    ["GET", "experiments/search", {}, { experiments: [{ name: "e2" }, { name: "Default" }] }],
    ["POST", "experiments/search", { max_results: 1, order_by: ["name ASC"] }, { experiments: [{ name: "Default" }] }],
  ];
  expect(await repliesTo(steps)).toMatchObject(expectedOf(steps));
});

it("answers the calls on runs", async () => {
  const call = mlflowClient(live);
  // The examples send the experiment as a number and read `run_uuid`.
  const created = await call("POST", "runs/create", { experiment_id: 0, start_time: 1_000, user_id: "ada", tags: [] });
  const run_id = created.body.run.info.run_uuid as string;
  const both = { run_id, run_uuid: run_id };
  const metric = { key: "precision", value: 0.769, timestamp: 2_000, step: 1 };
  const dataset = { name: "text", digest: "d1", source_type: "local", source: "/data/text" };
  const model = { artifact_path: "m", flavors: {}, utc_time_created: "2026-11-28", run_id };
  const steps: readonly Step[] = [
    ["POST", "runs/log-parameter", { ...both, key: "alpha", value: "0.1980" }, {}],
    ["POST", "runs/log-metric", { ...both, ...metric }, {}],
    ["POST", "runs/log-metric", { run_uuid: run_id, ...metric, step: 2, value: "Infinity" }, {}],
    ["POST", "runs/set-tag", { ...both, key: "t", value: "1" }, {}],
    ["POST", "runs/delete-tag", { ...both, key: "t" }, {}],
    ["POST", "runs/delete-tag", { ...both, key: "t" }, "RESOURCE_DOES_NOT_EXIST"],
    [
      "POST",
      "runs/log-batch",
      { ...both, metrics: [{ ...metric, key: "f1" }], params: [], tags: [{ key: "x", value: "" }] },
      {},
    ],
    [
      "POST",
      "runs/log-inputs",
      { run_id, datasets: [{ tags: [{ key: "mlflow.data.context", value: "train" }], dataset }] },
      {},
    ],
    ["POST", "runs/log-model", { run_id, model_json: JSON.stringify(model) }, {}],
    [
      "POST",
      "runs/update",
      { ...both, status: "FINISHED", end_time: 3_000 },
      { run_info: { status: "FINISHED", end_time: 3_000 } },
    ],
    [
      "GET",
      "runs/get",
      { run_id },
      { run: { inputs: { dataset_inputs: [{ dataset }] }, data: { params: [{ key: "alpha", value: "0.1980" }] } } },
    ],
    ["GET", "runs/get", { run_id: "none" }, "RESOURCE_DOES_NOT_EXIST"],
    [
      "GET",
      "metrics/get-history",
      { ...both, metric_key: "precision" },
      { metrics: [metric, { value: "Infinity", step: 2 }] },
    ],
    ["GET", "artifacts/list", { ...both, path: "" }, { files: [] }],
    [
      "POST",
      "runs/search",
      { experiment_ids: ["0"], filter: "metrics.f1 > 0.5", run_view_type: "ACTIVE_ONLY" },
      { runs: [{ info: { run_id } }] },
    ],
    [
      "POST",
      "runs/search",
      { experiment_ids: ["0"], filter: "params.alpha = '0.1980'", order_by: ["metrics.f1"] },
      { runs: [{}] },
    ],
    ["POST", "runs/delete", both, {}],
    [
      "POST",
      "runs/search",
      { experiment_ids: ["0"], run_view_type: "DELETED_ONLY" },
      { runs: [{ info: { lifecycle_stage: "deleted" } }] },
    ],
    ["POST", "runs/restore", both, {}],
    ["POST", "runs/create", { experiment_id: "77" }, "RESOURCE_DOES_NOT_EXIST"],
  ];
  expect(await repliesTo(steps)).toMatchObject(expectedOf(steps));
  const preview = await live.request(`/api/2.0/preview/mlflow/runs/get?run_uuid=${run_id}`);
  expect(preview.status).toBe(200);
});

it("answers the calls on registered models and their versions", async () => {
  const name = "chat";
  const first = { name, version: "1" };
  const steps: readonly Step[] = [
    [
      "POST",
      "registered-models/create",
      { name, description: "d", tags: [{ key: "a", value: "1" }] },
      { registered_model: { name, description: "d" } },
    ],
    ["POST", "registered-models/create", { name }, "RESOURCE_ALREADY_EXISTS"],
    [
      "POST",
      "model-versions/create",
      { name, source: "s3://models/chat/1", run_id: "r1" },
      { model_version: { ...first, current_stage: "None", status: "READY" } },
    ],
    ["POST", "model-versions/create", { name, source: "runs:/r2/model" }, { model_version: { version: "2" } }],
    ["POST", "model-versions/create", { name: "none", source: "s3://x" }, "RESOURCE_DOES_NOT_EXIST"],
    ["GET", "model-versions/get", first, { model_version: { source: "s3://models/chat/1", run_id: "r1" } }],
    ["GET", "model-versions/get-download-uri", first, { artifact_uri: "s3://models/chat/1" }],
    ["PATCH", "model-versions/update", { ...first, description: "first" }, { model_version: { description: "first" } }],
    ["POST", "model-versions/set-tag", { ...first, key: "eval", value: "ok" }, {}],
    ["POST", "model-versions/set-tag", { name, version: "2", key: "eval", value: "bad" }, {}],
    ["DELETE", "model-versions/delete-tag", { name, version: "2", key: "eval" }, {}],
    ["GET", "model-versions/search", { filter: "name = 'chat' and tags.eval = 'ok'" }, { model_versions: [first] }],
    [
      "GET",
      "model-versions/search",
      { filter: "name='chat'", order_by: ["version_number ASC"], max_results: 1 },
      { model_versions: [first] },
    ],
    [
      "POST",
      "model-versions/transition-stage",
      { ...first, stage: "Production", archive_existing_versions: false },
      { model_version: { current_stage: "Production" } },
    ],
    [
      "POST",
      "model-versions/transition-stage",
      { name, version: "2", stage: "production", archive_existing_versions: true },
      { model_version: { current_stage: "Production" } },
    ],
    [
      "GET",
      "registered-models/get-latest-versions",
      { name },
      { model_versions: [{ version: "1", current_stage: "Archived" }, { version: "2" }] },
    ],
    [
      "POST",
      "registered-models/get-latest-versions",
      { name, stages: ["Production"] },
      { model_versions: [{ version: "2" }] },
    ],
    ["POST", "registered-models/alias", { name, alias: "champion", version: "1" }, {}],
    ["POST", "registered-models/alias", { name, alias: "champion", version: "9" }, "RESOURCE_DOES_NOT_EXIST"],
    [
      "GET",
      "registered-models/alias",
      { name, alias: "champion" },
      { model_version: { ...first, aliases: ["champion"] } },
    ],
    ["GET", "registered-models/alias", { name, alias: "none" }, "INVALID_PARAMETER_VALUE"],
    ["POST", "registered-models/set-tag", { name, key: "b", value: "2" }, {}],
    ["DELETE", "registered-models/delete-tag", { name, key: "a" }, {}],
    ["PATCH", "registered-models/update", { name, description: "new" }, { registered_model: { description: "new" } }],
    ["POST", "registered-models/rename", { name, new_name: "talk" }, { registered_model: { name: "talk" } }],
    [
      "GET",
      "registered-models/get",
      { name: "talk" },
      { registered_model: { tags: [{ key: "b", value: "2" }], aliases: [{ alias: "champion", version: "1" }] } },
    ],
    ["GET", "registered-models/get", { name }, "RESOURCE_DOES_NOT_EXIST"],
    [
      "GET",
      "registered-models/search",
      { filter: "name ILIKE 'TAL%'" },
      { registered_models: [{ name: "talk", latest_versions: [{}, {}] }] },
    ],
    ["DELETE", "registered-models/alias", { name: "talk", alias: "champion" }, {}],
    ["DELETE", "model-versions/delete", { name: "talk", version: "2" }, {}],
    [
      "POST",
      "model-versions/create",
      { name: "talk", source: "s3://models/chat/3" },
      { model_version: { version: "3" } },
    ],
    ["DELETE", "registered-models/delete", { name: "talk" }, {}],
    ["GET", "model-versions/get", { name: "talk", version: "1" }, "RESOURCE_DOES_NOT_EXIST"],
  ];
  expect(await repliesTo(steps)).toMatchObject(expectedOf(steps));
});

it("answers the calls on logged models", async () => {
  const call = mlflowClient(live);
  const run_id = (await call("POST", "runs/create", {})).body.run.info.run_id as string;
  const asked = { experiment_id: "0", name: "net", source_run_id: run_id, params: [{ key: "p", value: "1" }] };
  const { model } = (await call("POST", "logged-models", asked)).body;
  const { model_id } = model.info as { model_id: string };
  const at = `logged-models/${model_id}`;
  const pending = {
    name: "net",
    status: "LOGGED_MODEL_PENDING",
    artifact_uri: `mlflow-artifacts:/0/models/${model_id}/artifacts`,
  };
  const steps: readonly Step[] = [
    ["GET", at, {}, { model: { info: pending, data: { params: [{ key: "p", value: "1" }] } } }],
    ["PATCH", at, { model_id, status: "LOGGED_MODEL_READY" }, { model: { info: { status: "LOGGED_MODEL_READY" } } }],
    ["PATCH", at, { model_id, status: "LOGGED_MODEL_PENDING" }, "INVALID_PARAMETER_VALUE"],
    [
      "PATCH",
      `${at}/tags`,
      { tags: [{ key: "a", value: "1" }] },
      { model: { info: { tags: [{ key: "a", value: "1" }] } } },
    ],
    ["POST", `${at}/params`, { params: [{ key: "q", value: "2" }] }, {}],
    ["POST", "runs/outputs", { run_id, models: [{ model_id, step: 3 }] }, {}],
    ["GET", "runs/get", { run_id }, { run: { outputs: { model_outputs: [{ model_id, step: 3 }] } } }],
    [
      "POST",
      "logged-models/search",
      {
        experiment_ids: ["0"],
        filter: "params.q = '2'",
        order_by: [{ field_name: "creation_timestamp", ascending: false }],
      },
      { models: [{ info: { model_id } }] },
    ],
    ["DELETE", `${at}/tags/a`, {}, {}],
    ["DELETE", `${at}/tags/a`, {}, "RESOURCE_DOES_NOT_EXIST"],
    ["DELETE", at, {}, {}],
    ["GET", at, {}, "RESOURCE_DOES_NOT_EXIST"],
    ["POST", "logged-models", { experiment_id: "0", name: "../x" }, "INVALID_PARAMETER_VALUE"],
  ];
  expect(await repliesTo(steps)).toMatchObject(expectedOf(steps));
});
