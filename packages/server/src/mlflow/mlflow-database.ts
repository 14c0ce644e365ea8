/**
 * The database of MLflow's tracking and registry API. Children refer to the number of their owner, so that a rename
 * changes one row. A commit is synced before its answer: a registered model or a logged value survives a power cut.
 */
import { DatabaseSync } from "node:sqlite";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import { MlflowError } from "./mlflow-error.ts";

const FORMAT = 1;
const BUSY_TIMEOUT_MS = 5_000;
/** Pages of 4 KiB: the database has at most 16 GiB, about 200,000,000 values of metrics. */
const PAGES_MAX = 4_194_304;

const tagTable = (name: string): string =>
  `CREATE TABLE IF NOT EXISTS ${name} (owner INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
     PRIMARY KEY (owner, key)) STRICT, WITHOUT ROWID;`;

const tagTables = [
  "experiment_tag",
  "run_tag",
  "param",
  "model_tag",
  "version_tag",
  "logged_model_tag",
  "logged_model_param",
] as const;
export type TagTable = (typeof tagTables)[number];

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS experiment (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    artifact_location TEXT NOT NULL, lifecycle TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS run (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, experiment INTEGER NOT NULL,
    name TEXT NOT NULL, user TEXT NOT NULL, status TEXT NOT NULL, started INTEGER NOT NULL, ended INTEGER,
    lifecycle TEXT NOT NULL, artifact_uri TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS run_of_experiment ON run (experiment, started DESC, id);
  CREATE TABLE IF NOT EXISTS metric (owner INTEGER NOT NULL, key TEXT NOT NULL, timestamp INTEGER NOT NULL,
    step INTEGER NOT NULL, value REAL NOT NULL, is_nan INTEGER NOT NULL,
    PRIMARY KEY (owner, key, timestamp, step, value, is_nan)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS latest_metric (owner INTEGER NOT NULL, key TEXT NOT NULL, value REAL,
    timestamp INTEGER NOT NULL, step INTEGER NOT NULL, PRIMARY KEY (owner, key)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS input (owner INTEGER NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
    document TEXT NOT NULL, PRIMARY KEY (owner, name, digest)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS model_input (owner INTEGER NOT NULL, model TEXT NOT NULL,
    PRIMARY KEY (owner, model)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS model (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL, newest INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS version (number INTEGER PRIMARY KEY, model INTEGER NOT NULL, version INTEGER NOT NULL,
    source TEXT NOT NULL, run TEXT NOT NULL, run_link TEXT NOT NULL, user TEXT NOT NULL, description TEXT NOT NULL,
    stage TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL, UNIQUE (model, version)) STRICT;
  CREATE INDEX IF NOT EXISTS version_by_stage ON version (model, stage, version);
  CREATE TABLE IF NOT EXISTS version_origin (version INTEGER PRIMARY KEY, location TEXT NOT NULL,
    logged_model TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS alias (model INTEGER NOT NULL, alias TEXT NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (model, alias)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS logged_model (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    experiment INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, run TEXT NOT NULL, status TEXT NOT NULL,
    artifact_uri TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS logged_model_of_experiment ON logged_model (experiment, created DESC, id);
  CREATE TABLE IF NOT EXISTS deleted_model (id TEXT PRIMARY KEY, run TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS workload_link (owner INTEGER NOT NULL, workload TEXT NOT NULL, rule TEXT,
    PRIMARY KEY (owner, workload)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS output (owner INTEGER NOT NULL, model TEXT NOT NULL, step INTEGER NOT NULL,
    PRIMARY KEY (owner, model)) STRICT, WITHOUT ROWID;
  ${tagTables.map(tagTable).join("\n")}
`;

export type Row = Readonly<Record<string, string | number | null>>;

export class MlflowDatabase {
  readonly #database: DatabaseSync;
  /** Prepared statements by their text. Texts that depend on a request are not kept. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, nowMs: number) {
    this.#database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    const format = Number(this.#database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (format > FORMAT)
      throw new Error(`${file} has format ${format} of a newer version of Headroom; this version reads ${FORMAT}`);
    this.#database.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA case_sensitive_like = ON; PRAGMA max_page_count = ${PAGES_MAX};`,
    );
    this.#database.exec(`BEGIN IMMEDIATE; ${SCHEMA} PRAGMA user_version = ${FORMAT}; COMMIT;`);
    const location = "mlflow-artifacts:/0";
    this.run("INSERT OR IGNORE INTO experiment VALUES (0, 'Default', ?, 'active', ?, ?)", location, nowMs, nowMs);
  }

  #statement(sql: string): StatementSync {
    const kept = this.#statements.get(sql);
    if (kept !== undefined) return kept;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  all(sql: string, ...parameters: readonly SQLInputValue[]): readonly Row[] {
    return this.#statement(sql).all(...parameters) as Row[];
  }

  one(sql: string, ...parameters: readonly SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...parameters) as Row | undefined;
  }

  /** Rows of a statement whose text depends on the request. */
  search(sql: string, parameters: readonly SQLInputValue[]): readonly Row[] {
    return this.#database.prepare(sql).all(...parameters) as Row[];
  }

  /** Returns the number of the last inserted row. */
  run(sql: string, ...parameters: readonly SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...parameters).lastInsertRowid);
  }

  /** All of the writes or none. */
  transaction<Result>(write: () => Result): Result {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = write();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      if (error instanceof Error && error.message.includes("database or disk is full"))
        throw new MlflowError(
          "RESOURCE_EXHAUSTED",
          "mlflow.db or its disk is full. Free space, or move the file away.",
        );
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }
}
