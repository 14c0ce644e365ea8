/** Registered models: names under which versions are registered, with tags and aliases. */
import type { CallContext } from "./calls.ts";
import { ORDERS_MAX } from "./experiments.ts";
import { quoted } from "./fields.ts";
import type { Fields } from "./fields.ts";
import { attribute, filterSql, orderSql } from "./filter.ts";
import type { Columns, FilterTarget } from "./filter.ts";
import type { MlflowDatabase, Row } from "./mlflow-database.ts";
import { invalid, missing, MlflowError } from "./mlflow-error.ts";
import { DESCRIPTION_CHARS_MAX, MODEL_NAME_CHARS_MAX, nameOf, stageOf, versionOf } from "./model-fields.ts";
import { pageOf } from "./page.ts";
import { tagOf, Tags, tagsOf } from "./tags.ts";
import { versionDocument, VERSION_ROWS } from "./version-rows.ts";

const ALIAS_CHARS_MAX = 255;
const ALIASES_MAX = 1_000;
const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;
const STAGES_MAX = 10;

const columns: Columns = {
  name: ["m.name", "text"],
  last_updated_timestamp: ["m.updated", "number"],
  timestamp: ["m.updated", "number"],
  creation_timestamp: ["m.created", "number"],
};

const target: FilterTarget = (entity, key) => {
  if (entity === "tag" || entity === "tags") {
    const sql = "SELECT value FROM model_tag t WHERE t.owner = m.number AND t.key = ?";
    return { sql, parameters: [key], kind: "text" };
  }
  return attribute(columns, entity, key);
};

export class RegisteredModels {
  readonly #database: MlflowDatabase;
  readonly #tags: Tags;
  readonly #versionTags: Tags;

  constructor(database: MlflowDatabase) {
    this.#database = database;
    this.#tags = new Tags(database, "model_tag");
    this.#versionTags = new Tags(database, "version_tag");
  }

  find(name: string): Row {
    const row = this.#database.one("SELECT * FROM model WHERE name = ?", name);
    if (row === undefined) throw missing(`Registered Model with name=${quoted(name)} not found.`);
    return row;
  }

  create(fields: Fields, { nowMs }: CallContext): object {
    const name = fields.name("name", MODEL_NAME_CHARS_MAX);
    const description = fields.text("description", DESCRIPTION_CHARS_MAX) ?? "";
    const tags = tagsOf(fields);
    return this.#database.transaction(() => {
      this.#requireUnused(name);
      const sql = "INSERT INTO model (name, description, created, updated, newest) VALUES (?, ?, ?, ?, 0)";
      const number = this.#database.run(sql, name, description, nowMs, nowMs);
      for (const tag of tags) this.#tags.set(number, tag);
      return this.#answer(name);
    });
  }

  #requireUnused(name: string): void {
    if (this.#database.one("SELECT 1 FROM model WHERE name = ?", name) !== undefined)
      throw new MlflowError("RESOURCE_ALREADY_EXISTS", `Registered Model (name=${quoted(name)}) already exists.`);
  }

  get(fields: Fields): object {
    return this.#answer(nameOf(fields));
  }

  rename(fields: Fields, { nowMs }: CallContext): object {
    const name = nameOf(fields);
    const newName = fields.name("new_name", MODEL_NAME_CHARS_MAX);
    return this.#database.transaction(() => {
      const number = Number(this.find(name)["number"]);
      if (newName !== name) this.#requireUnused(newName);
      this.#database.run("UPDATE model SET name = ?, updated = ? WHERE number = ?", newName, nowMs, number);
      return this.#answer(newName);
    });
  }

  update(fields: Fields, { nowMs }: CallContext): object {
    const name = nameOf(fields);
    const description = fields.text("description", DESCRIPTION_CHARS_MAX) ?? null;
    return this.#database.transaction(() => {
      const sql = "UPDATE model SET description = coalesce(?, description), updated = ? WHERE number = ?";
      this.#database.run(sql, description, nowMs, Number(this.find(name)["number"]));
      return this.#answer(name);
    });
  }

  /** Removes the model with its versions, tags and aliases. */
  delete(fields: Fields): object {
    const name = nameOf(fields);
    return this.#database.transaction(() => {
      const number = Number(this.find(name)["number"]);
      const versionTags = "DELETE FROM version_tag WHERE owner IN (SELECT number FROM version WHERE model = ?)";
      this.#database.run(versionTags, number);
      const origins = "DELETE FROM version_origin WHERE version IN (SELECT number FROM version WHERE model = ?)";
      this.#database.run(origins, number);
      this.#database.run("DELETE FROM version WHERE model = ?", number);
      this.#database.run("DELETE FROM alias WHERE model = ?", number);
      this.#tags.clear(number);
      this.#database.run("DELETE FROM model WHERE number = ?", number);
      return {};
    });
  }

  search(fields: Fields): object {
    const range = { offset: fields.offset(), count: fields.count("max_results", PAGE_DEFAULT, PAGE_MAX) };
    const filter = filterSql(fields.text("filter", 10_000), target);
    const order = orderSql(fields.texts("order_by", ORDERS_MAX), target, "m.name");
    const rows = this.#database.search(
      `SELECT * FROM model m WHERE ${filter.sql} ORDER BY ${order.sql} LIMIT ? OFFSET ?`,
      [...filter.parameters, ...order.parameters, range.count + 1, range.offset],
    );
    return pageOf("registered_models", rows, range, (row) => this.#document(row));
  }

  /** The newest version of each stage, or of the given stages. */
  latestVersions(fields: Fields): object {
    const model = this.find(nameOf(fields));
    const stages = fields.texts("stages", STAGES_MAX, 20).map(stageOf);
    const versions = this.#latest(Number(model["number"]));
    const wanted = versions.filter((row) => stages.length === 0 || stages.some((stage) => stage === row["stage"]));
    return { model_versions: wanted.map((row) => versionDocument(this.#database, this.#versionTags, row)) };
  }

  setTag(fields: Fields): object {
    const name = nameOf(fields);
    const tag = tagOf(fields);
    return this.#database.transaction(() => {
      this.#tags.set(Number(this.find(name)["number"]), tag);
      return {};
    });
  }

  /** A tag that does not exist counts as deleted, as in MLflow. */
  deleteTag(fields: Fields): object {
    const name = nameOf(fields);
    const key = fields.key();
    this.#tags.remove(Number(this.find(name)["number"]), key);
    return {};
  }

  setAlias(fields: Fields): object {
    const name = nameOf(fields);
    const alias = aliasOf(fields);
    const version = versionOf(fields);
    return this.#database.transaction(() => {
      const model = Number(this.find(name)["number"]);
      if (this.#database.one("SELECT 1 FROM version WHERE model = ? AND version = ?", model, version) === undefined)
        throw missing(`Model Version (name=${quoted(name)}, version=${version}) not found.`);
      this.#database.run("INSERT OR REPLACE INTO alias VALUES (?, ?, ?)", model, alias, version);
      const count = this.#database.one("SELECT count(*) AS count FROM alias WHERE model = ?", model)?.["count"];
      if (Number(count) > ALIASES_MAX)
        throw new MlflowError("RESOURCE_EXHAUSTED", `A model has at most ${ALIASES_MAX} aliases.`);
      return {};
    });
  }

  deleteAlias(fields: Fields): object {
    const name = nameOf(fields);
    const alias = aliasOf(fields);
    this.#database.run("DELETE FROM alias WHERE model = ? AND alias = ?", Number(this.find(name)["number"]), alias);
    return {};
  }

  /** MLflow's clients recognise a missing alias by this code and message. */
  getByAlias(fields: Fields): object {
    const model = this.find(nameOf(fields));
    const alias = aliasOf(fields);
    const sql = `${VERSION_ROWS} JOIN alias a ON a.model = v.model AND a.version = v.version WHERE v.model = ? AND a.alias = ?`;
    const row = this.#database.one(sql, Number(model["number"]), alias);
    if (row === undefined) throw invalid(`Registered model alias ${alias} not found.`);
    return { model_version: versionDocument(this.#database, this.#versionTags, row) };
  }

  #latest(model: number): readonly Row[] {
    return this.#database.all(
      `${VERSION_ROWS} WHERE v.model = ? AND v.version IN (SELECT max(version) FROM version WHERE model = ? GROUP BY stage) ORDER BY v.version`,
      model,
      model,
    );
  }

  #answer(name: string): object {
    return { registered_model: this.#document(this.find(name)) };
  }

  #document(row: Row): object {
    const number = Number(row["number"]);
    const aliases = this.#database.all("SELECT alias, version FROM alias WHERE model = ? ORDER BY alias", number);
    return {
      name: row["name"],
      creation_timestamp: row["created"],
      last_updated_timestamp: row["updated"],
      description: row["description"],
      latest_versions: this.#latest(number).map((each) => versionDocument(this.#database, this.#versionTags, each)),
      tags: this.#tags.all(number),
      aliases: aliases.map(({ alias, version }) => ({ alias, version: String(version) })),
    };
  }
}

/** `latest` and names such as `v1` mean versions in MLflow's URIs. */
function aliasOf(fields: Fields): string {
  const alias = fields.needed("alias", ALIAS_CHARS_MAX);
  if (!/^[\p{L}\p{N}_-]+$/u.test(alias) || /^(?:latest|v\d+)$/i.test(alias))
    throw invalid(`Invalid alias name ${quoted(alias)}: use letters, digits, '_' and '-', but not 'latest' or 'v1'.`);
  return alias;
}
