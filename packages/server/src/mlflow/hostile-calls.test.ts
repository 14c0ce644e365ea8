/** Bad input: a clear error within bounds, nothing half registered, and never a failure of the server. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { exchange, removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { mlflowClient } from "./testing/mlflow-client.ts";

let live: LiveControlPlane;
let run_id = "";
beforeAll(async () => {
  live = await startLive(temporaryHome());
  const call = mlflowClient(live);
  run_id = (await call("POST", "runs/create", {})).body.run.info.run_id as string;
  await call("POST", "registered-models/create", { name: "m" });
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

const long = (length: number): string => "x".repeat(length);
const metric = { key: "a", value: 1, timestamp: 1, step: 0 };
const post = (path: string, fields: unknown): readonly [string, string, unknown] => ["POST", path, fields];

const hostile: readonly (readonly [method: string, path: string, fields: unknown])[] = [
  post("experiments/create", []),
  post("experiments/create", "name"),
  post("experiments/create", { name: 7 }),
  post("experiments/create", { name: { $gt: "" } }),
  post("experiments/create", { name: "a\0b" }),
  post("experiments/create", { name: "../../etc" }),
  post("experiments/create", { name: long(501) }),
  post("experiments/create", { name: "e", tags: "none" }),
  post("experiments/create", { name: "e", tags: [null] }),
  post("experiments/create", {
    name: "e",
    tags: [
      { key: "ok", value: "1" },
      { key: "..", value: "1" },
    ],
  }),
  post("experiments/create", { name: "e", artifact_location: "s3://x/../../y" }),
  post("experiments/search", { max_results: -1 }),
  post("experiments/search", { max_results: 1e12 }),
  post("experiments/search", { page_token: "!!" }),
  post("experiments/search", { page_token: Buffer.from("9".repeat(40)).toString("base64url") }),
  post("experiments/search", { filter: `${"(".repeat(9_000)}` }),
  post("experiments/search", { filter: Array.from({ length: 200 }, () => "name = 'a'").join(" AND ") }),
  post("experiments/search", { filter: "name = 'a' OR 1 = 1; DROP TABLE experiment" }),
  post("experiments/search", { filter: "attributes.constructor = 'a'" }),
  post("experiments/search", { order_by: ["name; DELETE FROM run"] }),
  post("experiments/search", { order_by: Array.from({ length: 1_000 }, () => "name") }),
  post("runs/create", { experiment_id: ["0"] }),
  post("runs/create", { start_time: "yesterday" }),
  post("runs/create", { start_time: 1e300 }),
  post("runs/create", { run_name: "a", tags: [{ key: "mlflow.runName", value: "b" }] }),
  post("runs/update", { status: "DONE" }),
  post("runs/log-metric", { ...metric, value: "high" }),
  post("runs/log-metric", { ...metric, value: true }),
  post("runs/log-metric", { ...metric, timestamp: -5 }),
  post("runs/log-metric", { ...metric, step: 0.5 }),
  post("runs/log-metric", { ...metric, key: "a\nb" }),
  post("runs/log-metric", { ...metric, key: "__proto__/../x" }),
  post("runs/log-batch", { metrics: Array.from({ length: 1_001 }, () => metric) }),
  post("runs/log-batch", { metrics: Array.from({ length: 1_000_000 }, () => 1) }),
  post("runs/log-batch", { params: Array.from({ length: 101 }, (_, index) => ({ key: `p${index}`, value: "1" })) }),
  post("runs/log-batch", { metrics: [metric], tags: [{ key: long(251), value: "" }] }),
  post("runs/log-batch", { metrics: { length: 5 } }),
  post("runs/log-parameter", { key: "p", value: long(6_001) }),
  post("runs/log-parameter", { key: "p", value: 5 }),
  post("runs/log-parameter", { key: "p", value: long(2_000_000) }),
  post("runs/set-tag", { key: "t", value: long(9_000) }),
  post("runs/log-model", { model_json: "{" }),
  post("runs/log-model", { model_json: "[]" }),
  post("runs/log-inputs", { datasets: [{ dataset: { name: "d" } }] }),
  post("runs/log-inputs", { datasets: [{ dataset: 5 }] }),
  post("runs/search", { experiment_ids: "0" }),
  post("runs/search", { experiment_ids: ["0"], filter: "metrics.loss < 'low'" }),
  post("runs/search", { experiment_ids: ["0"], filter: "metrics.loss <" }),
  post("runs/search", { experiment_ids: ["0"], filter: long(20_000) }),
  ["GET", "runs/search", {}],
  ["GET", "metrics/get-history", { metric_key: "../x" }],
  ["GET", "artifacts/list", { path: "../../.." }],
  post("registered-models/create", { name: "a/../b" }),
  post("registered-models/create", { name: " " }),
  post("registered-models/alias", { name: "m", alias: "latest", version: "1" }),
  post("registered-models/alias", { name: "m", alias: "v1", version: "1" }),
  post("registered-models/alias", { name: "m", alias: "a/b", version: "1" }),
  post("model-versions/create", { name: "m" }),
  post("model-versions/create", { name: "m", source: "mlflow-artifacts:/0/%2e%2e/%2e%2e/token" }),
  post("model-versions/create", { name: "m", source: "s3://x", tags: [{ key: "" }] }),
  post("model-versions/transition-stage", { name: "m", version: "1", stage: "Live" }),
  ["GET", "model-versions/get", { name: "m", version: "one" }],
  ["GET", "model-versions/get", { name: "m", version: "1e999" }],
  ["DELETE", "registered-models/delete", { name: ["m"] }],
];

it(`refuses ${hostile.length} bad requests, and registers nothing of them`, async () => {
  const call = mlflowClient(live);
  for (const [method, path, fields] of hostile) {
    const isObject = typeof fields === "object" && fields !== null && !Array.isArray(fields);
    const isOfRun = isObject && /^(?:runs\/(?:log|set|update)|metrics|artifacts)/.test(path);
    const { status, body } = await call(method, path, (isOfRun ? { run_id, ...fields } : fields) as object);
    const shown = `${path} ${JSON.stringify(fields).slice(0, 80)}`;
    expect.soft([shown, status >= 400 && status < 500, typeof body.error_code]).toEqual([shown, true, "string"]);
    expect.soft(JSON.stringify(body).length).toBeLessThan(1_000);
  }
  const { run } = (await call("GET", "runs/get", { run_id })).body;
  expect([run.data.metrics, run.data.params, run.data.tags.length]).toEqual([[], [], 1]);
  expect((await call("GET", "experiments/search")).body.experiments).toHaveLength(1);
  expect((await call("POST", "runs/search", { experiment_ids: ["0"] })).body.runs).toHaveLength(1);
  expect((await call("GET", "registered-models/search")).body.registered_models).toHaveLength(1);
  expect((await call("GET", "model-versions/search")).body.model_versions).toEqual([]);
  expect(live.complaints).toEqual([]);
});

it("refuses bodies that are no JSON, in MLflow's form", async () => {
  const url = "/api/2.0/mlflow/experiments/create";
  for (const [type, body] of [
    ["application/json", "{"],
    ["application/json", `${"[".repeat(200_000)}`],
    ["text/plain", "name"],
  ] as const) {
    const response = await live.request(url, { method: "POST", headers: { "content-type": type }, body });
    expect(response.status).toBeLessThan(500);
    expect(await response.json()).toMatchObject({ error_code: expect.any(String) as string });
  }
  const cut = `POST ${url} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${live.token}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`;
  expect(await exchange(live.url, cut)).toMatch(/^HTTP\/1\.1 4\d\d /);
});
