/** Runs: single executions of training code, with their parameters, metrics, tags and data sets. */
import { randomUUID } from "node:crypto";
import type { CallContext } from "./calls.ts";
import { ORDERS_MAX, viewSql } from "./experiments.ts";
import type { Experiments } from "./experiments.ts";
import { quoted } from "./fields.ts";
import type { Fields } from "./fields.ts";
import { attribute, filterSql, orderSql } from "./filter.ts";
import type { Columns, Expression, FilterTarget } from "./filter.ts";
import type { MlflowDatabase, Row } from "./mlflow-database.ts";
import { invalid, missing } from "./mlflow-error.ts";
import { pageOf } from "./page.ts";
import { Tags, tagsOf } from "./tags.ts";
import { WorkloadLinks } from "./workload-links.ts";

const NAME_CHARS_MAX = 500;
const USER_CHARS_MAX = 256;
const PAGE_DEFAULT = 1_000;
const PAGE_MAX = 50_000;
const EXPERIMENTS_MAX = 1_000;
export const NAME_TAG = "mlflow.runName";
const statuses = ["RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"] as const;

const columns: Columns = {
  run_id: ["r.id", "text"],
  run_name: ["r.name", "text"],
  status: ["r.status", "text"],
  user_id: ["r.user", "text"],
  artifact_uri: ["r.artifact_uri", "text"],
  start_time: ["r.started", "number"],
  end_time: ["r.ended", "number"],
};
/** Names of columns in MLflow's own pages. */
const columnNames: Readonly<Record<string, string>> = {
  "run name": "run_name",
  name: "run_name",
  created: "start_time",
};

const children: readonly (readonly [entity: RegExp, table: string, kind: "text" | "number"])[] = [
  [/^metrics?$/, "latest_metric", "number"],
  [/^param(?:eter)?s?$/, "param", "text"],
  [/^tags?$/, "run_tag", "text"],
];

/** Data sets of a run. The context is a tag of the input. */
const datasetColumns: Readonly<Record<string, string>> = {
  name: "i.name",
  digest: "i.digest",
  context:
    "SELECT json_extract(t.value, '$.value') FROM json_each(i.document, '$.tags') t WHERE json_extract(t.value, '$.key') = 'mlflow.data.context'",
};

function datasetOf(key: string): Expression | null {
  const sql = Object.hasOwn(datasetColumns, key) ? datasetColumns[key] : undefined;
  const anyOf = "SELECT 1 FROM input i WHERE i.owner = r.number AND";
  return sql === undefined ? null : { sql, parameters: [], kind: "text", anyOf };
}

const target: FilterTarget = (entity, key) => {
  if (/^datasets?$/.test(entity)) return datasetOf(key);
  const child = children.find(([name]) => name.test(entity));
  if (child !== undefined) {
    const sql = `SELECT value FROM ${child[1]} c WHERE c.owner = r.number AND c.key = ?`;
    return { sql, parameters: [key], kind: child[2] };
  }
  const lower = key.toLowerCase();
  const name = Object.hasOwn(columnNames, lower) ? (columnNames[lower] ?? lower) : lower;
  return attribute(columns, entity === "run" ? "attribute" : entity, name);
};

/** NaN and infinities as the JSON form of protocol buffers writes them. */
export function metricOf({ key, value, timestamp, step, is_nan }: Row): object {
  const number = value === null || is_nan === 1 ? NaN : Number(value);
  return { key, value: Number.isFinite(number) ? number : String(number), timestamp, step };
}

export class Runs {
  readonly #database: MlflowDatabase;
  readonly #experiments: Experiments;
  readonly #tags: Tags;
  readonly #params: Tags;
  readonly #links: WorkloadLinks;

  constructor(database: MlflowDatabase, experiments: Experiments) {
    this.#database = database;
    this.#experiments = experiments;
    this.#tags = new Tags(database, "run_tag");
    this.#params = new Tags(database, "param");
    this.#links = new WorkloadLinks(database);
  }

  /** A run, deleted ones included. */
  find(id: string): Row {
    const row = this.#database.one("SELECT * FROM run WHERE id = ?", id);
    if (row === undefined) throw missing(`Run with id=${quoted(id)} not found.`);
    return row;
  }

  /** Number of a run that is not deleted. */
  active(id: string): number {
    const run = this.find(id);
    if (run["lifecycle"] !== "active") throw invalid(`The run ${id} must be in the 'active' state. Restore it first.`);
    return Number(run["number"]);
  }

  create(fields: Fields, { nowMs, user, rules }: CallContext): object {
    const experimentId = fields.id("experiment_id") ?? "0";
    const tags = tagsOf(fields);
    const named = tags.find(({ key }) => key === NAME_TAG)?.value ?? "";
    const id = randomUUID().replaceAll("-", "");
    const given = fields.text("run_name", NAME_CHARS_MAX) ?? "";
    if (given !== "" && named !== "" && given !== named)
      throw invalid(`Both 'run_name' and the tag ${NAME_TAG} are given, with different values.`);
    const name = given || named || `run-${id.slice(0, 8)}`;
    const owner = fields.text("user_id", USER_CHARS_MAX) ?? user;
    const started = fields.time("start_time") ?? nowMs;
    return this.#database.transaction(() => {
      const experiment = this.#experiments.find(experimentId);
      if (experiment["lifecycle"] !== "active")
        throw invalid(`The experiment ${experimentId} must be in the 'active' state. Restore it first.`);
      const uri = `${String(experiment["artifact_location"])}/${id}/artifacts`;
      const number = this.#database.run(
        "INSERT INTO run (id, experiment, name, user, status, started, lifecycle, artifact_uri) VALUES (?, ?, ?, ?, 'RUNNING', ?, 'active', ?)",
        id,
        Number(experiment["number"]),
        name,
        owner,
        started,
        uri,
      );
      for (const tag of tags) this.#links.add(number, tag, { rules });
      for (const tag of [...tags, { key: NAME_TAG, value: name }]) this.#tags.set(number, tag);
      return { run: this.#document(this.find(id)) };
    });
  }

  get(fields: Fields): object {
    return { run: this.#document(this.find(fields.runId())) };
  }

  update(fields: Fields): object {
    const id = fields.runId();
    const status = fields.choice("status", statuses) ?? null;
    const ended = fields.time("end_time") ?? null;
    const name = fields.text("run_name", NAME_CHARS_MAX) || null;
    return this.#database.transaction(() => {
      const number = this.active(id);
      const sql = "UPDATE run SET status = coalesce(?, status), ended = coalesce(?, ended) WHERE number = ?";
      this.#database.run(sql, status, ended, number);
      if (name !== null) this.rename(number, name);
      return { run_info: infoOf(this.find(id)) };
    });
  }

  /** The name is a tag too, and both always agree. */
  rename(number: number, name: string): void {
    this.#database.run("UPDATE run SET name = ? WHERE number = ?", name, number);
    this.#tags.set(number, { key: NAME_TAG, value: name });
  }

  move(fields: Fields, lifecycle: "active" | "deleted"): object {
    const id = fields.runId();
    return this.#database.transaction(() => {
      this.#database.run("UPDATE run SET lifecycle = ? WHERE number = ?", lifecycle, Number(this.find(id)["number"]));
      return {};
    });
  }

  search(fields: Fields): object {
    const experiments = fields
      .ids("experiment_ids", EXPERIMENTS_MAX)
      .flatMap((id) => (/^\d{1,15}$/.test(id) ? [Number(id)] : []));
    const range = { offset: fields.offset(), count: fields.count("max_results", PAGE_DEFAULT, PAGE_MAX) };
    const view = viewSql(fields, "run_view_type");
    const filter = filterSql(fields.text("filter", 10_000), target);
    const order = orderSql(fields.texts("order_by", ORDERS_MAX), target, "r.started DESC, r.id");
    const marks = experiments.map(() => "?").join(", ");
    const rows = this.#database.search(
      `SELECT * FROM run r WHERE experiment IN (${marks}) AND ${view} AND ${filter.sql} ORDER BY ${order.sql} LIMIT ? OFFSET ?`,
      [...experiments, ...filter.parameters, ...order.parameters, range.count + 1, range.offset],
    );
    return pageOf("runs", rows, range, (row) => this.#document(row));
  }

  #document(row: Row): object {
    const number = Number(row["number"]);
    const metrics = this.#database.all("SELECT * FROM latest_metric WHERE owner = ? ORDER BY key", number);
    const inputs = this.#database.all("SELECT document FROM input WHERE owner = ? ORDER BY name, digest", number);
    const models = this.#database.all("SELECT model FROM model_input WHERE owner = ? ORDER BY model", number);
    const outputs = this.#database.all("SELECT model, step FROM output WHERE owner = ? ORDER BY step, model", number);
    return {
      info: infoOf(row),
      data: { metrics: metrics.map(metricOf), params: this.#params.all(number), tags: this.#tags.all(number) },
      outputs: { model_outputs: outputs.map(({ model, step }) => ({ model_id: model, step })) },
      inputs: {
        dataset_inputs: inputs.map(({ document }) => JSON.parse(String(document)) as object),
        model_inputs: models.map(({ model }) => ({ model_id: model })),
      },
    };
  }
}

function infoOf({ id, experiment, name, user, status, started, ended, lifecycle, artifact_uri }: Row): object {
  return {
    run_id: id,
    run_uuid: id,
    run_name: name,
    experiment_id: String(experiment),
    user_id: user,
    status,
    start_time: started,
    ...(ended === null ? {} : { end_time: ended }),
    artifact_uri,
    lifecycle_stage: lifecycle,
  };
}
