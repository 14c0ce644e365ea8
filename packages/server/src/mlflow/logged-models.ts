/** Logged models of MLflow 3: the models that a run writes, before one of them is registered. */
import { randomUUID } from "node:crypto";
import type { CallContext } from "./calls.ts";
import { ORDERS_MAX } from "./experiments.ts";
import type { Experiments } from "./experiments.ts";
import { quoted } from "./fields.ts";
import type { Fields } from "./fields.ts";
import { attribute, filterSql, orderSql } from "./filter.ts";
import type { Columns, FilterTarget } from "./filter.ts";
import type { MlflowDatabase, Row } from "./mlflow-database.ts";
import { invalid, missing } from "./mlflow-error.ts";
import { pageOf } from "./page.ts";
import { tagOf, Tags, tagsOf, TAGS_PER_CALL } from "./tags.ts";
import type { Tag } from "./tags.ts";

const NAME_CHARS_MAX = 500;
const TYPE_CHARS_MAX = 250;
const PARAM_CHARS_MAX = 6_000;
const EXPERIMENTS_MAX = 1_000;
const PAGE_DEFAULT = 50;
/** The order of MLflow's enumeration, whose numbers begin at 1. */
const statuses = ["LOGGED_MODEL_PENDING", "LOGGED_MODEL_READY", "LOGGED_MODEL_UPLOAD_FAILED"] as const;

const columns: Columns = {
  model_id: ["l.id", "text"],
  name: ["l.name", "text"],
  model_type: ["l.type", "text"],
  status: ["l.status", "text"],
  source_run_id: ["l.run", "text"],
  creation_timestamp: ["l.created", "number"],
  creation_time: ["l.created", "number"],
  last_updated_timestamp: ["l.updated", "number"],
};

const target: FilterTarget = (entity, key) => {
  const table = /^tags?$/.test(entity) ? "logged_model_tag" : /^params?$/.test(entity) ? "logged_model_param" : null;
  if (table === null) return attribute(columns, entity, key);
  const sql = `SELECT value FROM ${table} t WHERE t.owner = l.number AND t.key = ?`;
  return { sql, parameters: [key], kind: "text" };
};

const paramsOf = (fields: Fields): readonly Tag[] =>
  fields.list("params", TAGS_PER_CALL).map((each) => tagOf(each, PARAM_CHARS_MAX));

export class LoggedModels {
  readonly #database: MlflowDatabase;
  readonly #experiments: Experiments;
  readonly #tags: Tags;
  readonly #params: Tags;

  constructor(database: MlflowDatabase, experiments: Experiments) {
    this.#database = database;
    this.#experiments = experiments;
    this.#tags = new Tags(database, "logged_model_tag");
    this.#params = new Tags(database, "logged_model_param");
  }

  create(fields: Fields, { nowMs }: CallContext): object {
    const experimentId = fields.neededId("experiment_id");
    const id = `m-${randomUUID().replaceAll("-", "")}`;
    const name = fields.text("name") === undefined ? `model-${id.slice(2, 10)}` : fields.name("name", NAME_CHARS_MAX);
    const type = fields.text("model_type", TYPE_CHARS_MAX) ?? "";
    const run = fields.id("source_run_id") ?? "";
    const [params, tags] = [paramsOf(fields), tagsOf(fields)];
    return this.#database.transaction(() => {
      const experiment = this.#experiments.find(experimentId);
      if (experiment["lifecycle"] !== "active")
        throw invalid(`The experiment ${experimentId} must be in the 'active' state.`);
      const uri = `${String(experiment["artifact_location"])}/models/${id}/artifacts`;
      const number = this.#database.run(
        `INSERT INTO logged_model (id, experiment, name, type, run, status, artifact_uri, created, updated)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        id,
        Number(experiment["number"]),
        name,
        type,
        run,
        statuses[0],
        uri,
        nowMs,
        nowMs,
      );
      for (const param of params) this.#params.set(number, param);
      for (const tag of tags) this.#tags.set(number, tag);
      return this.#answer(id);
    });
  }

  get(fields: Fields): object {
    return this.#answer(fields.neededId("model_id"));
  }

  finalize(fields: Fields, { nowMs }: CallContext): object {
    const id = fields.neededId("model_id");
    const status = fields.choice("status", statuses);
    if (status === undefined || status === "LOGGED_MODEL_PENDING")
      throw invalid("Parameter 'status' must be LOGGED_MODEL_READY or LOGGED_MODEL_UPLOAD_FAILED.");
    return this.#database.transaction(() => {
      const number = Number(this.#find(id)["number"]);
      this.#database.run("UPDATE logged_model SET status = ?, updated = ? WHERE number = ?", status, nowMs, number);
      return this.#answer(id);
    });
  }

  delete(fields: Fields): object {
    const id = fields.neededId("model_id");
    return this.#database.transaction(() => {
      const { number: found, run } = this.#find(id);
      const number = Number(found);
      this.#params.clear(number);
      this.#tags.clear(number);
      // Its artifacts stay, and stay those of the run.
      this.#database.run("INSERT INTO deleted_model VALUES (?, ?)", id, String(run));
      this.#database.run("DELETE FROM logged_model WHERE number = ?", number);
      return {};
    });
  }

  search(fields: Fields): object {
    const experiments = fields
      .ids("experiment_ids", EXPERIMENTS_MAX)
      .flatMap((id) => (/^\d{1,15}$/.test(id) ? [Number(id)] : []));
    const range = { offset: fields.offset(), count: fields.count("max_results", PAGE_DEFAULT, PAGE_DEFAULT) };
    const filter = filterSql(fields.text("filter", 10_000), target);
    const orders = fields.list("order_by", ORDERS_MAX).map((each) => {
      const isAscending = each.has("ascending") ? each.flag("ascending") : true;
      return `${each.needed("field_name", 300)} ${isAscending ? "ASC" : "DESC"}`;
    });
    const order = orderSql(orders, target, "l.created DESC, l.id");
    const marks = experiments.map(() => "?").join(", ");
    const rows = this.#database.search(
      `SELECT * FROM logged_model l WHERE experiment IN (${marks}) AND ${filter.sql} ORDER BY ${order.sql} LIMIT ? OFFSET ?`,
      [...experiments, ...filter.parameters, ...order.parameters, range.count + 1, range.offset],
    );
    return pageOf("models", rows, range, (row) => this.#document(row));
  }

  setTags(fields: Fields): object {
    const id = fields.neededId("model_id");
    const tags = tagsOf(fields);
    return this.#database.transaction(() => {
      const number = Number(this.#find(id)["number"]);
      for (const tag of tags) this.#tags.set(number, tag);
      return this.#answer(id);
    });
  }

  deleteTag(fields: Fields): object {
    const id = fields.neededId("model_id");
    const key = fields.key("tag_key");
    return this.#database.transaction(() => {
      const number = Number(this.#find(id)["number"]);
      if (this.#tags.get(number, key) === undefined) throw missing(`No tag with name ${quoted(key)} in model ${id}.`);
      this.#tags.remove(number, key);
      return {};
    });
  }

  logParams(fields: Fields): object {
    const id = fields.neededId("model_id");
    const params = paramsOf(fields);
    return this.#database.transaction(() => {
      const number = Number(this.#find(id)["number"]);
      for (const param of params) this.#params.set(number, param);
      return {};
    });
  }

  #find(id: string): Row {
    const row = this.#database.one("SELECT * FROM logged_model WHERE id = ?", id);
    if (row === undefined) throw missing(`Logged model with ID ${quoted(id)} not found.`);
    return row;
  }

  #answer(id: string): object {
    return { model: this.#document(this.#find(id)) };
  }

  #document(row: Row): object {
    const number = Number(row["number"]);
    return {
      info: {
        model_id: row["id"],
        experiment_id: String(row["experiment"]),
        name: row["name"],
        creation_timestamp_ms: row["created"],
        last_updated_timestamp_ms: row["updated"],
        artifact_uri: row["artifact_uri"],
        status: row["status"],
        model_type: row["type"],
        source_run_id: row["run"],
        tags: this.#tags.all(number),
      },
      data: { params: this.#params.all(number), metrics: [] },
    };
  }
}
