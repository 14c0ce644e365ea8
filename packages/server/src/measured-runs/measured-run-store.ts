/**
 * Declared models and measured attempts in SQLite. No decision depends on this data, so commits are not synced, and an
 * unusable file is put aside and created again. The number of models, their bytes and the number of attempts are
 * bounded; the oldest are dropped first.
 */
import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { MeasuredStep, RunPrediction, SlowRun } from "@headroom/perf";
import type { DeclaredModel } from "./measured-run-messages.ts";

const FORMAT = 1;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS models (
    workload_id TEXT PRIMARY KEY,
    declared_ms INTEGER NOT NULL,
    model TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS models_by_age ON models (declared_ms);
  CREATE TABLE IF NOT EXISTS attempts (
    attempt_id TEXT PRIMARY KEY,
    workload_id TEXT NOT NULL,
    updated_ms INTEGER NOT NULL,
    has_ended INTEGER NOT NULL,
    attempt TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS attempts_of_workload ON attempts (workload_id, updated_ms);
  CREATE INDEX IF NOT EXISTS attempts_by_age ON attempts (updated_ms);
  PRAGMA user_version = ${FORMAT};
`;
/** Maximum number of models kept, and of their bytes: a config.json has some kilobytes. */
const MODELS_MAX = 20_000;
const MODELS_BYTES_MAX = 64 * 1024 * 1024;
/**
 * Maximum number of attempts kept. Each takes about 1 KiB, and the number is sixteen times what one kind of run uses.
 */
const ATTEMPTS_MAX = 4_096;
const OWNER_ALONE = 0o600;

/** One attempt: its placement, its prediction and its measurement. */
export interface StoredAttempt extends Omit<DeclaredModel, "training"> {
  readonly attemptId: string;
  readonly placed: {
    readonly acceleratorType: string;
    readonly acceleratorsPerWorker: number;
    readonly workers: number;
  };
  /** Time of the gang's last change of size. Reports before this time belong to another size. */
  readonly sinceMs: number;
  readonly prediction: RunPrediction | { readonly kind: "unpredicted"; readonly reason: string };
  readonly measured: (MeasuredStep & { readonly idleShare: number | null; readonly atMs: number }) | null;
  readonly slow: (SlowRun & { readonly otherRuns: number }) | null;
  /** Number of measurements in a row that found the attempt slow. */
  readonly slowLooks: number;
  readonly isTold: boolean;
  readonly hasEnded: boolean;
}

export class MeasuredRunStore {
  readonly #file: string;
  readonly #database: DatabaseSync;
  #problems: string[] = [];

  constructor(file: string) {
    this.#file = file;
    this.#database = this.#open();
  }

  takeProblems(): readonly string[] {
    const problems = this.#problems;
    this.#problems = [];
    return problems;
  }

  /** Replaces the workload's model and drops measurements with the earlier model. */
  declare(model: DeclaredModel, nowMs: number): void {
    const text = JSON.stringify(model);
    const known = this.model(model.workloadId);
    if (known !== null && JSON.stringify(known) === text) return;
    this.#database.prepare("DELETE FROM attempts WHERE workload_id = ?").run(model.workloadId);
    this.#database
      .prepare("INSERT OR REPLACE INTO models (workload_id, declared_ms, model) VALUES (?, ?, ?)")
      .run(model.workloadId, nowMs, text);
    this.#trimModels();
  }

  model(workloadId: string): DeclaredModel | null {
    const row = this.#database.prepare("SELECT model FROM models WHERE workload_id = ?").get(workloadId);
    return row === undefined ? null : (JSON.parse(String(row["model"])) as DeclaredModel);
  }

  workloadIds(): readonly string[] {
    return this.#database
      .prepare("SELECT workload_id FROM models")
      .all()
      .map((row) => String(row["workload_id"]));
  }

  attempt(attemptId: string): StoredAttempt | null {
    const row = this.#database.prepare("SELECT attempt FROM attempts WHERE attempt_id = ?").get(attemptId);
    return row === undefined ? null : (JSON.parse(String(row["attempt"])) as StoredAttempt);
  }

  put(attempt: StoredAttempt, nowMs: number): void {
    this.#database
      .prepare(
        "INSERT OR REPLACE INTO attempts (attempt_id, workload_id, updated_ms, has_ended, attempt) VALUES (?, ?, ?, ?, ?)",
      )
      .run(attempt.attemptId, attempt.workloadId, nowMs, attempt.hasEnded ? 1 : 0, JSON.stringify(attempt));
    this.#database
      .prepare(
        "DELETE FROM attempts WHERE attempt_id IN (SELECT attempt_id FROM attempts ORDER BY updated_ms DESC LIMIT -1 OFFSET ?)",
      )
      .run(ATTEMPTS_MAX);
  }

  /** Replaces the record of an attempt without changing its place in the order of age. */
  replace(attempt: StoredAttempt): void {
    this.#database
      .prepare("UPDATE attempts SET attempt = ? WHERE attempt_id = ?")
      .run(JSON.stringify(attempt), attempt.attemptId);
  }

  unfinished(): readonly StoredAttempt[] {
    return this.#attempts("SELECT attempt FROM attempts WHERE has_ended = 0", []);
  }

  /** The workload's attempts, the newest first. */
  attemptsOf(workloadId: string, limit: number): readonly StoredAttempt[] {
    return this.#attempts(
      "SELECT attempt FROM attempts WHERE workload_id = ? ORDER BY updated_ms DESC, attempt_id DESC LIMIT ?",
      [workloadId, limit],
    );
  }

  /** All attempts, the oldest first. */
  allAttempts(): readonly StoredAttempt[] {
    return this.#attempts("SELECT attempt FROM attempts ORDER BY updated_ms, attempt_id", []);
  }

  close(): void {
    this.#database.close();
  }

  #attempts(query: string, values: readonly (string | number)[]): readonly StoredAttempt[] {
    return this.#database
      .prepare(query)
      .all(...values)
      .map((row) => JSON.parse(String(row["attempt"])) as StoredAttempt);
  }

  #trimModels(): void {
    const totals = this.#database.prepare("SELECT count(*) AS n, total(length(model)) AS bytes FROM models");
    const oldest = this.#database.prepare(
      "DELETE FROM models WHERE workload_id IN (SELECT workload_id FROM models ORDER BY declared_ms LIMIT ?)",
    );
    for (
      let { n, bytes } = totals.get() as Record<string, number>;
      ;
      { n, bytes } = totals.get() as Record<string, number>
    ) {
      if ((n ?? 0) <= MODELS_MAX && (bytes ?? 0) <= MODELS_BYTES_MAX) return;
      oldest.run(Math.max(1, Math.floor((n ?? 0) / 50)));
    }
  }

  #open(): DatabaseSync {
    try {
      return openFile(this.#file);
    } catch (error) {
      this.#problems.push(
        `the store of measured runs ${this.#file} could not be used (${textOf(error)}); a new one was created`,
      );
    }
    try {
      putAside(this.#file);
      return openFile(this.#file);
    } catch (error) {
      this.#problems.push(
        `the store of measured runs ${this.#file} cannot be created (${textOf(error)}); runs are kept in memory until the next start`,
      );
      const database = new DatabaseSync(":memory:");
      database.exec(SCHEMA);
      return database;
    }
  }
}

function openFile(file: string): DatabaseSync {
  // SQLite creates its further files with the mode of this one.
  closeSync(openSync(file, "a", OWNER_ALONE));
  const database = new DatabaseSync(file);
  try {
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA journal_size_limit = 4194304");
    const format = Number(database.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
    if (format > FORMAT) throw new Error(`it has format ${format}, but this version reads ${FORMAT}`);
    database.exec(SCHEMA);
    database.prepare("SELECT attempt FROM attempts ORDER BY updated_ms LIMIT 1").get();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function putAside(file: string): void {
  for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
  if (existsSync(file)) renameSync(file, `${file}.unusable`);
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
