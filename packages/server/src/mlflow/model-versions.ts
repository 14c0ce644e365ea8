/** Versions of registered models: where the files of a model are, and which run made them. */
import type { CallContext } from "./calls.ts";
import { ORDERS_MAX } from "./experiments.ts";
import { hasDotSegment, quoted } from "./fields.ts";
import type { Fields } from "./fields.ts";
import { attribute, filterSql, orderSql } from "./filter.ts";
import type { Columns, FilterTarget } from "./filter.ts";
import type { MlflowDatabase, Row } from "./mlflow-database.ts";
import { invalid, missing } from "./mlflow-error.ts";
import { DESCRIPTION_CHARS_MAX, nameOf, stageOf, versionOf } from "./model-fields.ts";
import { pageOf } from "./page.ts";
import type { RegisteredModels } from "./registered-models.ts";
import { tagOf, Tags, tagsOf } from "./tags.ts";
import { versionDocument, VERSION_ROWS } from "./version-rows.ts";

const SOURCE_CHARS_MAX = 5_000;
const PAGE_DEFAULT = 10_000;
/** Requests with up to this number are accepted, as in MLflow; a page has at most `PAGE_DEFAULT`. */
const PAGE_ASKED_MAX = 200_000;

const columns: Columns = {
  name: ["m.name", "text"],
  version_number: ["v.version", "number"],
  version: ["v.version", "number"],
  run_id: ["v.run", "text"],
  source_path: ["v.source", "text"],
  source: ["v.source", "text"],
  current_stage: ["v.stage", "text"],
  creation_timestamp: ["v.created", "number"],
  last_updated_timestamp: ["v.updated", "number"],
};

const target: FilterTarget = (entity, key) => {
  if (entity === "tag" || entity === "tags") {
    const sql = "SELECT value FROM version_tag t WHERE t.owner = v.number AND t.key = ?";
    return { sql, parameters: [key], kind: "text" };
  }
  return attribute(columns, entity, key);
};

export class ModelVersions {
  readonly #database: MlflowDatabase;
  readonly #models: RegisteredModels;
  readonly #tags: Tags;

  constructor(database: MlflowDatabase, models: RegisteredModels) {
    this.#database = database;
    this.#models = models;
    this.#tags = new Tags(database, "version_tag");
  }

  create(fields: Fields, { nowMs, user }: CallContext): object {
    const name = nameOf(fields);
    const source = fields.needed("source", SOURCE_CHARS_MAX);
    if (hasDotSegment(decoded(source)) || /\p{Cc}/u.test(source))
      throw invalid(`Invalid model version source ${quoted(source)}: '..' and control characters are refused.`);
    const run = fields.id("run_id");
    const loggedModel = fields.id("model_id");
    const link = fields.text("run_link") ?? "";
    const description = fields.text("description", DESCRIPTION_CHARS_MAX) ?? "";
    const tags = tagsOf(fields);
    return this.#database.transaction(() => {
      const model = this.#models.find(name);
      const origin = this.#originOf(source, loggedModel);
      const [number, version] = [Number(model["number"]), Number(model["newest"]) + 1];
      // A number is never used twice, so that nothing that names a deleted version finds another one.
      this.#database.run("UPDATE model SET newest = ?, updated = ? WHERE number = ?", version, nowMs, number);
      const row = this.#database.run(
        `INSERT INTO version (model, version, source, run, run_link, user, description, stage, created, updated)
         VALUES (?, ?, ?, ?, ?, ?, ?, 'None', ?, ?)`,
        number,
        version,
        source,
        run ?? origin?.run ?? "",
        link,
        user,
        description,
        nowMs,
        nowMs,
      );
      const insert = "INSERT INTO version_origin VALUES (?, ?, ?)";
      if (origin !== null) this.#database.run(insert, row, origin.location, origin.loggedModel);
      for (const tag of tags) this.#tags.set(row, tag);
      return this.#answer(name, version);
    });
  }

  /** A `models:/` URI is resolved once, so that the version survives what it names. `null`: the source says it all. */
  #originOf(source: string, loggedModel: string | undefined): Origin | null {
    const named = /^models:\/(?:\/\/)?([^/]+)(?:\/([^/]+))?$/.exec(source);
    if (named === null && source.startsWith("models:"))
      throw invalid(`Invalid model version source ${quoted(source)}: expected models:/NAME/VERSION or models:/ID.`);
    const [, name = "", version] = named ?? [];
    const id = named !== null && version === undefined ? name : loggedModel;
    const made =
      id === undefined ? null : this.#database.one("SELECT artifact_uri, run FROM logged_model WHERE id = ?", id);
    if (made === undefined) throw missing(`Logged model with ID ${quoted(id ?? "")} not found.`);
    if (named === null) return made === null ? null : { location: source, run: runIn(made), loggedModel: id ?? "" };
    if (made !== null && version === undefined)
      return { location: String(made["artifact_uri"]), run: runIn(made), loggedModel: id ?? "" };
    if (!/^\d{1,15}$/.test(version ?? ""))
      throw invalid(`Invalid model version source ${quoted(source)}: state the number of the version.`);
    const copied = this.#find(name, Number(version));
    const run = made === null ? "" : runIn(made);
    return { location: locationOf(copied), run, loggedModel: id ?? String(copied["logged_model"] ?? "") };
  }

  get(fields: Fields): object {
    return this.#answer(nameOf(fields), versionOf(fields));
  }

  downloadUri(fields: Fields): object {
    return { artifact_uri: locationOf(this.#find(nameOf(fields), versionOf(fields))) };
  }

  update(fields: Fields, { nowMs }: CallContext): object {
    const [name, version] = [nameOf(fields), versionOf(fields)];
    const description = fields.text("description", DESCRIPTION_CHARS_MAX) ?? null;
    return this.#database.transaction(() => {
      const sql = "UPDATE version SET description = coalesce(?, description), updated = ? WHERE number = ?";
      this.#database.run(sql, description, nowMs, Number(this.#find(name, version)["number"]));
      return this.#answer(name, version);
    });
  }

  transition(fields: Fields, { nowMs }: CallContext): object {
    const [name, version] = [nameOf(fields), versionOf(fields)];
    const stage = stageOf(fields.needed("stage", 20));
    const archives = fields.flag("archive_existing_versions");
    if (archives && stage !== "Staging" && stage !== "Production")
      throw invalid("Parameter 'archive_existing_versions' is for the stages Staging and Production.");
    return this.#database.transaction(() => {
      const { number, model } = this.#find(name, version);
      const others =
        "UPDATE version SET stage = 'Archived', updated = ? WHERE model = ? AND stage = ? AND version <> ?";
      if (archives) this.#database.run(others, nowMs, Number(model), stage, version);
      this.#database.run("UPDATE version SET stage = ?, updated = ? WHERE number = ?", stage, nowMs, Number(number));
      this.#database.run("UPDATE model SET updated = ? WHERE number = ?", nowMs, Number(model));
      return this.#answer(name, version);
    });
  }

  delete(fields: Fields, { nowMs }: CallContext): object {
    const [name, version] = [nameOf(fields), versionOf(fields)];
    return this.#database.transaction(() => {
      const { number, model } = this.#find(name, version);
      this.#tags.clear(Number(number));
      this.#database.run("DELETE FROM version_origin WHERE version = ?", Number(number));
      this.#database.run("DELETE FROM alias WHERE model = ? AND version = ?", Number(model), version);
      this.#database.run("DELETE FROM version WHERE number = ?", Number(number));
      this.#database.run("UPDATE model SET updated = ? WHERE number = ?", nowMs, Number(model));
      return {};
    });
  }

  search(fields: Fields): object {
    const count = Math.min(PAGE_DEFAULT, fields.count("max_results", PAGE_DEFAULT, PAGE_ASKED_MAX));
    const range = { offset: fields.offset(), count };
    const filter = filterSql(fields.text("filter", 10_000), target);
    const order = orderSql(fields.texts("order_by", ORDERS_MAX), target, "v.updated DESC, m.name, v.version DESC");
    const rows = this.#database.search(`${VERSION_ROWS} WHERE ${filter.sql} ORDER BY ${order.sql} LIMIT ? OFFSET ?`, [
      ...filter.parameters,
      ...order.parameters,
      range.count + 1,
      range.offset,
    ]);
    return pageOf("model_versions", rows, range, (row) => versionDocument(this.#database, this.#tags, row));
  }

  setTag(fields: Fields): object {
    const [name, version] = [nameOf(fields), versionOf(fields)];
    const tag = tagOf(fields);
    return this.#database.transaction(() => {
      this.#tags.set(Number(this.#find(name, version)["number"]), tag);
      return {};
    });
  }

  deleteTag(fields: Fields): object {
    const [name, version] = [nameOf(fields), versionOf(fields)];
    const key = fields.key();
    this.#tags.remove(Number(this.#find(name, version)["number"]), key);
    return {};
  }

  #find(name: string, version: number): Row {
    const row = this.#database.one(`${VERSION_ROWS} WHERE m.name = ? AND v.version = ?`, name, version);
    if (row === undefined) throw missing(`Model Version (name=${quoted(name)}, version=${version}) not found.`);
    return row;
  }

  #answer(name: string, version: number): object {
    return { model_version: versionDocument(this.#database, this.#tags, this.#find(name, version)) };
  }
}

interface Origin {
  readonly location: string;
  /** The run that made the files; empty: none is known. */
  readonly run: string;
  readonly loggedModel: string;
}

const runIn = (loggedModel: Row): string => String(loggedModel["run"]);
const locationOf = ({ location, source }: Row): string => String(location ?? source);

/** The source with its percent-encoding undone, so that an encoded `..` is found. */
function decoded(source: string): string {
  try {
    return decodeURIComponent(source);
  } catch {
    return source;
  }
}
