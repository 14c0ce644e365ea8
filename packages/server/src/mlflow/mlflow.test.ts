import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { mlflowClient } from "./testing/mlflow-client.ts";
import type { MlflowClient, MlflowReply } from "./testing/mlflow-client.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  expect(live.complaints).toEqual([]);
  await live.close();
  removeHome(live.home);
});

const call: MlflowClient = (...asked) => mlflowClient(live)(...asked);
const post = (path: string, fields: object): Promise<MlflowReply> => call("POST", path, fields);
const get = (path: string, fields: object = {}): Promise<MlflowReply> => call("GET", path, fields);

async function newExperiment(name: string): Promise<string> {
  return String((await post("experiments/create", { name })).body.experiment_id);
}

async function newRun(experiment_id: string, more: object = {}): Promise<string> {
  return String((await post("runs/create", { experiment_id, ...more })).body.run.info.run_id);
}

describe("experiments", () => {
  it("are created, renamed, tagged, deleted and restored", async () => {
    const created = await post("experiments/create", { name: "vision", tags: [{ key: "team", value: "ml" }] });
    const { experiment_id } = created.body;
    expect(created).toEqual({ status: 200, body: { experiment_id: "1" } });
    expect((await post("experiments/update", { experiment_id, new_name: "vision-2" })).status).toBe(200);
    await post("experiments/set-experiment-tag", { experiment_id, key: "goal", value: "top-1" });
    expect((await get("experiments/get-by-name", { experiment_name: "vision-2" })).body.experiment).toMatchObject({
      experiment_id,
      name: "vision-2",
      artifact_location: "mlflow-artifacts:/1",
      lifecycle_stage: "active",
      tags: [
        { key: "goal", value: "top-1" },
        { key: "team", value: "ml" },
      ],
    });
    expect((await post("experiments/delete", { experiment_id })).status).toBe(200);
    expect((await get("experiments/get", { experiment_id })).body.experiment.lifecycle_stage).toBe("deleted");
    expect((await post("experiments/update", { experiment_id, new_name: "x" })).body.error_code).toBe("INVALID_STATE");
    expect((await post("experiments/restore", { experiment_id })).status).toBe(200);
    expect((await get("experiments/search", { filter: "tags.goal = 'top-1'" })).body.experiments).toHaveLength(1);
  });

  it("have unique names, and unknown ones are not found", async () => {
    await newExperiment("once");
    expect(await post("experiments/create", { name: "once" })).toEqual({
      status: 400,
      body: { error_code: "RESOURCE_ALREADY_EXISTS", message: 'Experiment "once" already exists.' },
    });
    expect(await get("experiments/get", { experiment_id: "404404" })).toMatchObject({
      status: 404,
      body: { error_code: "RESOURCE_DOES_NOT_EXIST" },
    });
  });

  it("are listed in pages", async () => {
    for (const name of ["page-a", "page-b", "page-c"]) await newExperiment(name);
    const asked = { filter: "name LIKE 'page-%'", order_by: ["name DESC"], max_results: 2 };
    const first = (await post("experiments/search", asked)).body;
    const second = (await post("experiments/search", { ...asked, page_token: first.next_page_token })).body;
    const names = [...first.experiments, ...second.experiments].map(({ name }: { name: string }) => name);
    expect(names).toEqual(["page-c", "page-b", "page-a"]);
    expect(second).not.toHaveProperty("next_page_token");
  });
});

describe("runs", () => {
  it("keep parameters, tags and the newest value of each metric", async () => {
    const run_id = await newRun(await newExperiment("logged"), {
      run_name: "first",
      start_time: 1_000,
      user_id: "ada",
    });
    await post("runs/log-parameter", { run_id, key: "lr", value: "0.1" });
    await post("runs/log-metric", { run_id, key: "loss", value: 2.5, timestamp: 1_000, step: 1 });
    await post("runs/log-batch", {
      run_id,
      metrics: [
        { key: "loss", value: 1.5, timestamp: 2_000, step: 2 },
        { key: "grad", value: "NaN", timestamp: 2_000, step: 2 },
      ],
      params: [{ key: "layers", value: "4" }],
      tags: [{ key: "phase", value: "warm" }],
    });
    await post("runs/update", { run_id, status: "FINISHED", end_time: 3_000 });
    const { run } = (await get("runs/get", { run_id })).body;
    expect(run.info).toMatchObject({
      run_name: "first",
      user_id: "ada",
      status: "FINISHED",
      start_time: 1_000,
      end_time: 3_000,
    });
    expect(run.data).toEqual({
      metrics: [
        { key: "grad", value: "NaN", timestamp: 2_000, step: 2 },
        { key: "loss", value: 1.5, timestamp: 2_000, step: 2 },
      ],
      params: [
        { key: "layers", value: "4" },
        { key: "lr", value: "0.1" },
      ],
      tags: [
        { key: "mlflow.runName", value: "first" },
        { key: "phase", value: "warm" },
      ],
    });
  });

  it("have the whole history of a metric, in pages", async () => {
    const run_id = await newRun(await newExperiment("history"));
    const metrics = Array.from({ length: 5 }, (_, step) => ({ key: "loss", value: 5 - step, timestamp: step, step }));
    await post("runs/log-batch", { run_id, metrics });
    await post("runs/log-batch", { run_id, metrics });
    const first = (await get("metrics/get-history", { run_id, metric_key: "loss", max_results: 3 })).body;
    const rest = { run_id, metric_key: "loss", page_token: first.next_page_token };
    const second = (await get("metrics/get-history", rest)).body;
    expect([...first.metrics, ...second.metrics]).toEqual(metrics);
  });

  it("refuse another value of a parameter, and a refused batch writes nothing", async () => {
    const run_id = await newRun(await newExperiment("atomic"));
    await post("runs/log-parameter", { run_id, key: "lr", value: "0.1" });
    expect((await post("runs/log-parameter", { run_id, key: "lr", value: "0.1" })).status).toBe(200);
    const refused = await post("runs/log-batch", {
      run_id,
      metrics: [{ key: "loss", value: 1, timestamp: 1 }],
      params: [
        { key: "new", value: "1" },
        { key: "lr", value: "0.2" },
      ],
    });
    expect([refused.status, refused.body.error_code]).toEqual([400, "INVALID_PARAMETER_VALUE"]);
    const { data } = (await get("runs/get", { run_id })).body.run;
    expect([data.metrics, data.params]).toEqual([[], [{ key: "lr", value: "0.1" }]]);
  });

  it("are found by metrics, parameters, tags and attributes", async () => {
    const id = await newExperiment("search");
    for (const [name, loss] of [
      ["a", 0.5],
      ["b", 0.2],
      ["c", 0.9],
    ] as const) {
      const run_id = await newRun(id, { run_name: name, tags: [{ key: "odd one", value: name }] });
      await post("runs/log-metric", { run_id, key: "val/loss", value: loss, timestamp: 1 });
      await post("runs/log-parameter", { run_id, key: "opt", value: name === "c" ? "sgd" : "adam" });
    }
    const found = async (filter: string, order_by: string[] = []): Promise<string[]> =>
      (await post("runs/search", { experiment_ids: [id], filter, order_by })).body.runs.map(
        (run: { info: { run_name: string } }) => run.info.run_name,
      );
    expect(await found("metrics.`val/loss` < 0.8", ["metrics.`val/loss` DESC"])).toEqual(["a", "b"]);
    expect(await found("params.opt = 'adam' AND tags.\"odd one\" != 'a'")).toEqual(["b"]);
    expect(await found("attributes.run_name IN ('a', 'c') and status = 'RUNNING'", ["run_name"])).toEqual(["a", "c"]);
    expect(await found("params.opt ILIKE 'SG%'")).toEqual(["c"]);
  });

  it("that are deleted accept no values until they are restored", async () => {
    const id = await newExperiment("deleted-runs");
    const run_id = await newRun(id);
    await post("runs/delete", { run_id });
    expect((await post("runs/set-tag", { run_id, key: "a", value: "b" })).body.error_code).toBe(
      "INVALID_PARAMETER_VALUE",
    );
    expect((await post("runs/search", { experiment_ids: [id] })).body.runs).toEqual([]);
    await post("runs/restore", { run_id });
    expect((await post("runs/search", { experiment_ids: [id] })).body.runs).toHaveLength(1);
  });
});

describe("the API", () => {
  it("is closed to clients without a token, in MLflow's form", async () => {
    const response = await fetch(`${live.url}/api/2.0/mlflow/experiments/search`);
    expect([response.status, ((await response.json()) as { error_code: string }).error_code]).toEqual([
      401,
      "UNAUTHENTICATED",
    ]);
  });

  it("answers unknown calls in MLflow's form", async () => {
    expect(await get("experiments/sing")).toMatchObject({ status: 404, body: { error_code: "ENDPOINT_NOT_FOUND" } });
  });
});
