/** Tags and parameters: texts by key, of experiments, runs, models and versions. */
import type { Fields } from "./fields.ts";
import type { MlflowDatabase, TagTable } from "./mlflow-database.ts";
import { MlflowError } from "./mlflow-error.ts";

/** Maximum number of keys of one owner, so that an answer with all of them has an end. */
const KEYS_MAX = 5_000;
/** Maximum number of characters of a tag, and number of tags in one request. */
const TAG_CHARS_MAX = 8_000;
export const TAGS_PER_CALL = 100;

export interface Tag {
  readonly key: string;
  readonly value: string;
}

export const tagOf = (fields: Fields, charsMax = TAG_CHARS_MAX): Tag => ({
  key: fields.key(),
  value: fields.text("value", charsMax) ?? "",
});

export const tagsOf = (fields: Fields, charsMax = TAG_CHARS_MAX): readonly Tag[] =>
  fields.list("tags", TAGS_PER_CALL).map((each) => tagOf(each, charsMax));

export class Tags {
  readonly #database: MlflowDatabase;
  readonly #sql: Readonly<Record<"all" | "one" | "set" | "remove" | "clear" | "count", string>>;

  constructor(database: MlflowDatabase, table: TagTable) {
    this.#database = database;
    this.#sql = {
      all: `SELECT key, value FROM ${table} WHERE owner = ? ORDER BY key`,
      one: `SELECT value FROM ${table} WHERE owner = ? AND key = ?`,
      set: `INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?)`,
      remove: `DELETE FROM ${table} WHERE owner = ? AND key = ?`,
      clear: `DELETE FROM ${table} WHERE owner = ?`,
      count: `SELECT count(*) AS count FROM ${table} WHERE owner = ?`,
    };
  }

  all(owner: number): readonly Tag[] {
    return this.#database
      .all(this.#sql.all, owner)
      .map((row) => ({ key: String(row["key"]), value: String(row["value"]) }));
  }

  get(owner: number, key: string): string | undefined {
    const value = this.#database.one(this.#sql.one, owner, key)?.["value"];
    return value === undefined ? undefined : String(value);
  }

  set(owner: number, { key, value }: Tag): void {
    if (this.get(owner, key) === undefined && Number(this.#database.one(this.#sql.count, owner)?.["count"]) >= KEYS_MAX)
      throw new MlflowError("RESOURCE_EXHAUSTED", `There are ${KEYS_MAX} keys already; no more are accepted.`);
    this.#database.run(this.#sql.set, owner, key, value);
  }

  remove(owner: number, key: string): void {
    this.#database.run(this.#sql.remove, owner, key);
  }

  clear(owner: number): void {
    this.#database.run(this.#sql.clear, owner);
  }
}
