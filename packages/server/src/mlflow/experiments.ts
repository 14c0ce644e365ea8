/** Experiments: named groups of runs. Deleted experiments can be restored; nothing is removed. */
import { hasDotSegment, quoted } from "./fields.ts";
import type { Fields } from "./fields.ts";
import { attribute, filterSql, orderSql } from "./filter.ts";
import type { Columns, FilterTarget } from "./filter.ts";
import type { CallContext } from "./calls.ts";
import type { MlflowDatabase, Row } from "./mlflow-database.ts";
import { invalid, missing, MlflowError } from "./mlflow-error.ts";
import { pageOf } from "./page.ts";
import { tagOf, Tags, tagsOf } from "./tags.ts";

const NAME_CHARS_MAX = 500;
const TAG_CHARS_MAX = 20_000;
const PAGE_DEFAULT = 1_000;
const PAGE_MAX = 50_000;
export const ORDERS_MAX = 20;
const viewTypes = ["ACTIVE_ONLY", "DELETED_ONLY", "ALL"] as const;

const columns: Columns = {
  name: ["e.name", "text"],
  experiment_id: ["e.number", "number"],
  creation_time: ["e.created", "number"],
  last_update_time: ["e.updated", "number"],
};

const target: FilterTarget = (entity, key) => {
  if (entity === "tag" || entity === "tags") {
    const sql = "SELECT value FROM experiment_tag t WHERE t.owner = e.number AND t.key = ?";
    return { sql, parameters: [key], kind: "text" };
  }
  return attribute(columns, entity, key);
};

/** Condition of a view; the column `lifecycle` must be unambiguous. */
export function viewSql(fields: Fields, field: string): string {
  const view = fields.choice(field, viewTypes) ?? "ACTIVE_ONLY";
  return view === "ALL" ? "TRUE" : view === "ACTIVE_ONLY" ? "lifecycle = 'active'" : "lifecycle = 'deleted'";
}

export class Experiments {
  readonly #database: MlflowDatabase;
  readonly #tags: Tags;

  constructor(database: MlflowDatabase) {
    this.#database = database;
    this.#tags = new Tags(database, "experiment_tag");
  }

  /** An experiment, deleted ones included. */
  find(id: string): Row {
    if (!/^[a-zA-Z0-9][\w-]{0,63}$/.test(id)) throw invalid(`Invalid experiment ID: ${quoted(id)}.`);
    const number = /^\d{1,15}$/.test(id) ? Number(id) : -1;
    const row = this.#database.one("SELECT * FROM experiment WHERE number = ?", number);
    if (row === undefined) throw missing(`No Experiment with id=${id} exists.`);
    return row;
  }

  create(fields: Fields, { nowMs }: CallContext): object {
    const name = fields.name("name", NAME_CHARS_MAX);
    const location = fields.text("artifact_location") ?? "";
    if (hasDotSegment(location) || location.startsWith("runs:"))
      throw invalid("Invalid value for parameter 'artifact_location': '..' and runs:/ are refused.");
    const tags = tagsOf(fields, TAG_CHARS_MAX);
    return this.#database.transaction(() => {
      this.#requireUnused(name);
      const sql =
        "INSERT INTO experiment (name, artifact_location, lifecycle, created, updated) VALUES (?, ?, 'active', ?, ?)";
      const number = this.#database.run(sql, name, location, nowMs, nowMs);
      if (location === "")
        this.#database.run(
          "UPDATE experiment SET artifact_location = ? WHERE number = ?",
          `mlflow-artifacts:/${number}`,
          number,
        );
      for (const tag of tags) this.#tags.set(number, tag);
      return { experiment_id: String(number) };
    });
  }

  #requireUnused(name: string): void {
    const row = this.#database.one("SELECT lifecycle FROM experiment WHERE name = ?", name);
    if (row === undefined) return;
    const state = row["lifecycle"] === "deleted" ? " in deleted state. Restore it, or use another name" : "";
    throw new MlflowError("RESOURCE_ALREADY_EXISTS", `Experiment ${quoted(name)} already exists${state}.`);
  }

  get(fields: Fields): object {
    return { experiment: this.#document(this.find(fields.neededId("experiment_id"))) };
  }

  getByName(fields: Fields): object {
    const name = fields.needed("experiment_name", NAME_CHARS_MAX);
    const row = this.#database.one("SELECT * FROM experiment WHERE name = ?", name);
    if (row === undefined) throw missing(`Could not find experiment with name ${quoted(name)}.`);
    return { experiment: this.#document(row) };
  }

  search(fields: Fields): object {
    const range = { offset: fields.offset(), count: fields.count("max_results", PAGE_DEFAULT, PAGE_MAX) };
    const view = viewSql(fields, "view_type");
    const filter = filterSql(fields.text("filter", 10_000), target);
    const order = orderSql(fields.texts("order_by", ORDERS_MAX), target, "e.created DESC, e.number DESC");
    const rows = this.#database.search(
      `SELECT * FROM experiment e WHERE ${view} AND ${filter.sql} ORDER BY ${order.sql} LIMIT ? OFFSET ?`,
      [...filter.parameters, ...order.parameters, range.count + 1, range.offset],
    );
    return pageOf("experiments", rows, range, (row) => this.#document(row));
  }

  update(fields: Fields, { nowMs }: CallContext): object {
    const id = fields.neededId("experiment_id");
    const name = fields.name("new_name", NAME_CHARS_MAX);
    return this.#database.transaction(() => {
      const experiment = this.find(id);
      if (experiment["lifecycle"] !== "active")
        throw new MlflowError("INVALID_STATE", `Experiment ${id} is deleted. Restore it to rename it.`);
      if (name === experiment["name"]) return {};
      this.#requireUnused(name);
      const sql = "UPDATE experiment SET name = ?, updated = ? WHERE number = ?";
      this.#database.run(sql, name, nowMs, Number(experiment["number"]));
      return {};
    });
  }

  /** Deletes an active experiment or restores a deleted one, with its runs. */
  move(fields: Fields, lifecycle: "active" | "deleted", { nowMs }: CallContext): object {
    const id = fields.neededId("experiment_id");
    return this.#database.transaction(() => {
      const experiment = this.find(id);
      const number = Number(experiment["number"]);
      if (experiment["lifecycle"] === lifecycle) {
        const other = lifecycle === "active" ? "deleted" : "active";
        throw missing(`No ${other} Experiment with id=${id} exists: it is ${lifecycle} already.`);
      }
      this.#database.run("UPDATE experiment SET lifecycle = ?, updated = ? WHERE number = ?", lifecycle, nowMs, number);
      this.#database.run("UPDATE run SET lifecycle = ? WHERE experiment = ?", lifecycle, number);
      return {};
    });
  }

  setTag(fields: Fields): object {
    const id = fields.neededId("experiment_id");
    const tag = tagOf(fields, TAG_CHARS_MAX);
    return this.#database.transaction(() => {
      this.#tags.set(this.#active(id), tag);
      return {};
    });
  }

  deleteTag(fields: Fields): object {
    const id = fields.neededId("experiment_id");
    const key = fields.key();
    return this.#database.transaction(() => {
      const number = this.#active(id);
      if (this.#tags.get(number, key) === undefined)
        throw missing(`No tag with name ${quoted(key)} in experiment ${id}.`);
      this.#tags.remove(number, key);
      return {};
    });
  }

  /** Number of an active experiment. */
  #active(id: string): number {
    const experiment = this.find(id);
    if (experiment["lifecycle"] !== "active") throw invalid(`The experiment ${id} must be in the 'active' state.`);
    return Number(experiment["number"]);
  }

  #document(row: Row): object {
    const { number, name, artifact_location, lifecycle, created, updated } = row;
    return {
      experiment_id: String(number),
      name,
      artifact_location,
      lifecycle_stage: lifecycle,
      creation_time: created,
      last_update_time: updated,
      tags: this.#tags.all(Number(number)),
    };
  }
}
