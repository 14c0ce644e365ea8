/**
 * Telemetry in SQLite: one row for each attempt and each other subject, with its rolled-up series as text. No decision
 * depends on this data, so commits are not synced, and an unusable database is put aside and created again.
 */
import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { StatementSync } from "node:sqlite";
import type { AttemptId } from "@headroom/model";
import type { AcceleratorHistory, AttemptMetrics, Page, SubjectSeries } from "@headroom/protocol";
import { mappedUnits } from "@headroom/metrics";
import { AttemptSeries, seriesView } from "@headroom/views";
import type { NewestReport, SubjectSample, TelemetrySample } from "@headroom/views";
import { addPackedColumn, GATHERED_MS, moveAccelerators, SERIES_SCHEMA, SeriesRows } from "./series-rows.ts";
import type {
  AttemptSample,
  MetricsRequest,
  ReadingsRequest,
  SeriesRequest,
  TelemetryRules,
  TelemetryThreadData,
} from "./telemetry-messages.ts";

const FORMAT = 3;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS attempts (
    position INTEGER PRIMARY KEY,
    attempt_id TEXT NOT NULL UNIQUE,
    workload_id TEXT NOT NULL,
    newest_ms INTEGER NOT NULL,
    series TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS attempts_of_workload ON attempts (workload_id, position);
  CREATE INDEX IF NOT EXISTS attempts_by_age ON attempts (newest_ms);
  ${SERIES_SCHEMA}
  PRAGMA user_version = ${FORMAT};
`;
/** Maximum number of attempts written at once: some milliseconds of this thread, and all of 10,000 attempts in 80 s. */
const FLUSHED_PER_TURN = 128;
/** Time in ms for which reports of an attempt are gathered before its row is written. */
const WRITTEN_AFTER_MS = 5_000;
/** Maximum number of rows removed at a time. */
const REMOVED_AT_ONCE = 256;
/** Share of the size limit at which the removal by size stops. */
const TRIMMED_TO = 0.9;
/** Maximum size in bytes of a database in memory, which is used if no file can be created. */
const MEMORY_BYTES_MAX = 64 * 1024 * 1024;
const OWNER_ALONE = 0o600;
const TRIM_TURNS_MAX = 100;

interface Gathered {
  readonly workloadId: string;
  readonly sinceMs: number;
  readonly samples: TelemetrySample[];
}

export class TelemetryDatabase {
  readonly #file: string;
  readonly #rules: TelemetryRules;
  #database: DatabaseSync;
  #isInMemory = false;
  #problems: string[] = [];
  /** Reports that are not written to a row yet, by attempt; the attempt whose first report is oldest comes first. */
  readonly #gathered = new Map<AttemptId, Gathered>();
  readonly #subjects = new SeriesRows();

  constructor({ file, rules, isExpected }: TelemetryThreadData) {
    this.#file = file;
    this.#rules = rules;
    const isMissing = isExpected && !existsSync(file);
    try {
      this.#database = openFile(file);
      if (isMissing) this.#problems.push(`the telemetry store ${file} is missing; a new one was created`);
    } catch (error) {
      this.#database = this.#makeNew(error);
    }
  }

  takeProblems(): readonly string[] {
    const problems = this.#problems;
    this.#problems = [];
    return problems;
  }

  add(samples: readonly AttemptSample[]): void {
    for (const [attemptId, workloadId, sample] of samples) {
      const known = this.#gathered.get(attemptId);
      if (known === undefined) this.#gathered.set(attemptId, { workloadId, sinceMs: sample.atMs, samples: [sample] });
      else known.samples.push(sample);
    }
  }

  addSubjects(samples: readonly SubjectSample[]): void {
    this.#subjects.add(samples);
  }

  /** Writes values of earlier times; other requests are answered in between. */
  async addPast(samples: readonly SubjectSample[]): Promise<void> {
    const bySubject = [...Map.groupBy(samples, ({ subject }) => subject)];
    for (let from = 0; from < bySubject.length; from += FLUSHED_PER_TURN) {
      const part = new Map(bySubject.slice(from, from + FLUSHED_PER_TURN));
      this.#orNew(() => this.#subjects.writePast(this.#database, part));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /**
   * Time in ms up to which series of earlier processes can be complete; `null`: there are none. Samples that a process gathered are lost when
   * it dies. A row with a time after `nowMs` says nothing: other rows tell until when the process lived.
   */
  completeUntilMs(nowMs: number): number | null {
    const newestMs = this.#orNew(() => this.#subjects.newestMs(this.#database, nowMs));
    return newestMs === null ? null : newestMs - GATHERED_MS;
  }

  readings(request: ReadingsRequest): readonly AcceleratorHistory[] {
    return this.#orNew(() => this.#subjects.readNode(this.#database, request));
  }

  /** `declaredUnits`: of the values that metric sources declare. */
  series({ subject, ...range }: SeriesRequest, declaredUnits: Readonly<Record<string, string>> = {}): SubjectSeries {
    const units = { ...declaredUnits, ...mappedUnits };
    return this.#orNew(() => seriesView(subject, this.#subjects.read(this.#database, subject), range, units));
  }

  flush(nowMs: number, all: boolean): void {
    this.#orNew(() => {
      if (!this.#isInMemory && !existsSync(this.#file)) throw new Error("the file was removed");
      const due: [AttemptId, Gathered][] = [];
      for (const entry of this.#gathered) {
        if (!all && (due.length >= FLUSHED_PER_TURN || nowMs - entry[1].sinceMs < WRITTEN_AFTER_MS)) break;
        due.push(entry);
      }
      if (due.length > 0) this.#write(due);
      this.#subjects.flush(this.#database, { nowMs, all, max: FLUSHED_PER_TURN });
      this.#trim(nowMs);
    });
    const problem = this.#subjects.takeProblem();
    if (problem !== null) this.#problems.push(problem);
  }

  read({ workloadId, attemptId, after, limit, ...range }: MetricsRequest): Page<AttemptMetrics> {
    return this.#orNew(() => {
      // Few reports are waiting, so they are written first, and a page then needs one query.
      const own = [...this.#gathered].filter(([, gathered]) => gathered.workloadId === workloadId);
      if (own.length > 0) this.#write(own);
      const rows = this.#database
        .prepare(
          `SELECT position, attempt_id, series FROM attempts
           WHERE workload_id = ? AND position > ? AND (? IS NULL OR attempt_id = ?) ORDER BY position LIMIT ?`,
        )
        .all(workloadId, after, attemptId, attemptId, limit + 1);
      const items = rows
        .slice(0, limit)
        .map((row) => AttemptSeries.fromText(String(row["series"])).view(String(row["attempt_id"]), range));
      const last = rows[limit - 1];
      return { items, nextCursor: rows.length > limit && last !== undefined ? String(last["position"]) : null };
    });
  }

  newest(ids: readonly AttemptId[]): readonly (readonly [AttemptId, NewestReport])[] {
    return this.#orNew(() => {
      const find = this.#database.prepare("SELECT series FROM attempts WHERE attempt_id = ?");
      return ids.flatMap((id) => {
        const row = find.get(id);
        return row === undefined ? [] : [[id, AttemptSeries.fromText(String(row["series"])).newest] as const];
      });
    });
  }

  /** Size of the stored data in bytes; free pages do not count. */
  bytes(): number {
    return this.#orNew(() => {
      const {
        page_count: pages,
        freelist_count: free,
        page_size: size,
      } = this.#database
        .prepare(
          "SELECT page_count, freelist_count, page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
        )
        .get() as Record<string, number>;
      return ((pages ?? 0) - (free ?? 0)) * (size ?? 0);
    });
  }

  close(): void {
    this.#database.close();
  }

  #write(due: readonly (readonly [AttemptId, Gathered])[]): void {
    const find = this.#database.prepare("SELECT series FROM attempts WHERE attempt_id = ?");
    const put = this.#database.prepare(
      `INSERT INTO attempts (attempt_id, workload_id, newest_ms, series) VALUES (?, ?, ?, ?)
       ON CONFLICT (attempt_id) DO UPDATE SET newest_ms = excluded.newest_ms, series = excluded.series`,
    );
    this.#database.exec("BEGIN");
    try {
      for (const [attemptId, { workloadId, samples }] of due) {
        const row = find.get(attemptId);
        const series = row === undefined ? new AttemptSeries() : AttemptSeries.fromText(String(row["series"]));
        for (const sample of samples) series.add(sample);
        put.run(attemptId, workloadId, samples.at(-1)?.atMs ?? 0, series.toText());
      }
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
    for (const [attemptId] of due) this.#gathered.delete(attemptId);
  }

  /** Removes rows by age, then by size. One call removes a part of the surplus, and the next call continues. */
  #trim(nowMs: number): void {
    this.#subjects.trim(this.#database, nowMs - this.#rules.keptMs, REMOVED_AT_ONCE);
    const oldest = "SELECT position FROM attempts WHERE newest_ms < ? ORDER BY newest_ms LIMIT ?";
    const remove = this.#database.prepare(`DELETE FROM attempts WHERE position IN (${oldest})`);
    remove.run(nowMs - this.#rules.keptMs, REMOVED_AT_ONCE);
    const bytesMax = this.#isInMemory ? Math.min(MEMORY_BYTES_MAX, this.#rules.bytesMax) : this.#rules.bytesMax;
    if (this.bytes() <= bytesMax) return;
    for (let turn = 0; turn < TRIM_TURNS_MAX && this.bytes() > bytesMax * TRIMMED_TO; turn++)
      if (this.#removeOldest(remove) === 0) return;
  }

  /** Removes rows of the table whose oldest row is older than that of the other. Returns their number. */
  #removeOldest(attempts: StatementSync): number {
    const oldest = this.#database.prepare("SELECT min(newest_ms) AS ms FROM attempts").get()?.["ms"];
    const attemptMs = typeof oldest === "number" ? oldest : Number.MAX_SAFE_INTEGER;
    const subjectMs = this.#subjects.oldestMs(this.#database) ?? Number.MAX_SAFE_INTEGER;
    return subjectMs < attemptMs
      ? this.#subjects.remove(this.#database, attemptMs, REMOVED_AT_ONCE)
      : Number(attempts.run(Math.min(subjectMs + 1, Number.MAX_SAFE_INTEGER), REMOVED_AT_ONCE).changes);
  }

  /** Runs `act`. If the database fails, runs `act` once more on a new database. */
  #orNew<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      this.#database = this.#makeNew(error);
      return act();
    }
  }

  #makeNew(error: unknown): DatabaseSync {
    const reason = error instanceof Error ? error.message : String(error);
    closeQuietly(this.#database);
    try {
      putAside(this.#file);
      const database = openFile(this.#file);
      this.#isInMemory = false;
      this.#problems.push(
        `the telemetry store ${this.#file} could not be used (${reason}); a new one was created, and what it held is in ${asideName(this.#file)} as far as it is readable`,
      );
      return database;
    } catch (second) {
      const why = second instanceof Error ? second.message : String(second);
      this.#isInMemory = true;
      this.#problems.push(
        `the telemetry store ${this.#file} cannot be created (${why}); reports are kept in memory until the next start`,
      );
      const database = new DatabaseSync(":memory:");
      database.exec(SCHEMA);
      return database;
    }
  }
}

function openFile(file: string): DatabaseSync {
  // SQLite creates its additional files with the mode of this file.
  closeSync(openSync(file, "a", OWNER_ALONE));
  const database = new DatabaseSync(file);
  try {
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA journal_size_limit = 4194304");
    const format = Number(database.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
    if (format > FORMAT) throw new Error(`it has format ${format}, this version reads ${FORMAT}`);
    database.exec(SCHEMA);
    addPackedColumn(database);
    moveAccelerators(database);
    database.prepare("SELECT position FROM attempts ORDER BY newest_ms LIMIT 1").get();
    return database;
  } catch (error) {
    closeQuietly(database);
    throw error;
  }
}

const asideName = (file: string): string => `${file}.unusable`;

/** Keeps one unusable file, the newest, for inspection. Keeping more would fill the disk. */
function putAside(file: string): void {
  for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true });
  if (existsSync(file)) renameSync(file, asideName(file));
}

function closeQuietly(database: DatabaseSync | undefined): void {
  try {
    database?.close();
  } catch {
    // The failure does not matter: the database is replaced.
  }
}
