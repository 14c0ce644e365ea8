/** Series of subjects in the telemetry store: one row for each subject, with its rolled-up series as compressed text. */
import type { DatabaseSync } from "node:sqlite";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { acceleratorIndexOf, acceleratorSubject, AcceleratorSeries, Series } from "@headroom/views";
import type { StoredSeries, SubjectSample } from "@headroom/views";
import type { AcceleratorHistory } from "@headroom/protocol";
import type { ReadingsRequest } from "./telemetry-messages.ts";

export const SERIES_SCHEMA = `
  CREATE TABLE IF NOT EXISTS series (
    position INTEGER PRIMARY KEY,
    subject TEXT NOT NULL UNIQUE,
    newest_ms INTEGER NOT NULL,
    series TEXT NOT NULL,
    packed BLOB
  ) STRICT;
  CREATE INDEX IF NOT EXISTS series_by_age ON series (newest_ms);
`;
/** Time in ms for which samples are gathered before they are written, so that many samples go into a row at once. */
export const GATHERED_MS = 300_000;
/** Maximum number of samples of one subject that wait for a slow disk. Older samples are dropped. */
const GATHERED_MAX = 80;
/** Maximum number of metrics of one subject. */
const SUBJECT_NAMES_MAX = 96;
const NODE_ACCELERATORS_MAX = 1_024;
/** Maximum number of subjects. Those whose newest samples are oldest are removed. */
const SUBJECTS_MAX = 100_000;

interface GatheredSamples {
  readonly sinceMs: number;
  readonly samples: SubjectSample[];
}

export class SeriesRows {
  /** Samples that are not written yet, by subject; the subject whose first sample is oldest comes first. */
  readonly #gathered = new Map<string, GatheredSamples>();

  #droppedCount = 0;
  #isDropping = false;

  add(samples: readonly SubjectSample[]): void {
    for (const sample of samples) {
      const known = this.#gathered.get(sample.subject);
      if (known === undefined && this.#gathered.size >= SUBJECTS_MAX) this.#droppedCount++;
      else if (known === undefined) this.#gathered.set(sample.subject, { sinceMs: sample.atMs, samples: [sample] });
      else if (known.samples.push(sample) > GATHERED_MAX) known.samples.shift();
    }
  }

  /** Why samples were dropped since the last call, at the first call of several in which there were some. */
  takeProblem(): string | null {
    const [count, wasDropping] = [this.#droppedCount, this.#isDropping];
    this.#droppedCount = 0;
    this.#isDropping = count > 0;
    return count === 0 || wasDropping
      ? null
      : `${count} samples of series were dropped, because samples of ${SUBJECTS_MAX} subjects wait to be written: have sources give fewer subjects`;
  }

  /** Writes samples that were gathered long enough, at most `max` rows; `all`: writes all samples. */
  flush(
    database: DatabaseSync,
    { nowMs, all, max }: { readonly nowMs: number; readonly all: boolean; readonly max: number },
  ): void {
    const due: string[] = [];
    for (const [subject, { sinceMs }] of this.#gathered) {
      if (!all && (due.length >= max || nowMs - sinceMs < GATHERED_MS)) break;
      due.push(subject);
    }
    if (due.length > 0) this.#write(database, due);
  }

  /** The series of a subject; `null`: nothing was ever recorded about it. */
  read(database: DatabaseSync, subject: string): Series | null {
    if (this.#gathered.has(subject)) this.#write(database, [subject]);
    const row = database.prepare("SELECT series, packed FROM series WHERE subject = ?").get(subject);
    return row === undefined ? null : seriesFrom(row);
  }

  /** The series of a node's accelerators, in the order of their indices. */
  readNode(database: DatabaseSync, { node, ...range }: ReadingsRequest): readonly AcceleratorHistory[] {
    const own = [...this.#gathered.keys()].filter((subject) => acceleratorIndexOf(subject, node) !== null);
    if (own.length > 0) this.#write(database, own);
    const prefix = acceleratorSubject(node, "");
    return database
      .prepare("SELECT subject, series, packed FROM series WHERE subject >= ? AND subject < ? LIMIT ?")
      .all(prefix, `${prefix}:`, NODE_ACCELERATORS_MAX)
      .flatMap((row) => {
        const index = acceleratorIndexOf(String(row["subject"]), node);
        return index === null ? [] : [new AcceleratorSeries(storedIn(row)).view(index, range)];
      })
      .toSorted((left, right) => left.index - right.index);
  }

  /** Removes rows whose newest sample is older than `beforeMs`, and those beyond the maximum, at most `max` at a time. */
  trim(database: DatabaseSync, beforeMs: number, max: number): void {
    this.remove(database, beforeMs, max);
    const { count = 0 } = database.prepare("SELECT count(*) AS count FROM series").get() as { count?: number };
    if (count > SUBJECTS_MAX) this.remove(database, Number.MAX_SAFE_INTEGER, Math.min(max, count - SUBJECTS_MAX));
  }

  /** Removes rows whose newest sample is older than `beforeMs`, the oldest first. Returns their number. */
  remove(database: DatabaseSync, beforeMs: number, max: number): number {
    const remove = database.prepare(
      "DELETE FROM series WHERE position IN (SELECT position FROM series WHERE newest_ms < ? ORDER BY newest_ms LIMIT ?)",
    );
    return Number(remove.run(beforeMs, max).changes);
  }

  /** Time in ms of the newest sample of the rows whose newest one is not after `untilMs`; `null`: there is no such row. */
  newestMs(database: DatabaseSync, untilMs: number): number | null {
    const newest = database.prepare("SELECT max(newest_ms) AS ms FROM series WHERE newest_ms <= ?").get(untilMs)?.[
      "ms"
    ];
    return typeof newest === "number" ? newest : null;
  }

  /** Time of the row whose newest sample is oldest; `null`: there is no row. */
  oldestMs(database: DatabaseSync): number | null {
    const oldest = database.prepare("SELECT min(newest_ms) AS ms FROM series").get()?.["ms"];
    return typeof oldest === "number" ? oldest : null;
  }

  /** Writes values of earlier times, by subject, as far as the series have no later value of the same name. */
  writePast(database: DatabaseSync, samples: ReadonlyMap<string, readonly SubjectSample[]>): void {
    // Gathered samples may be earlier than past ones of other names.
    const gathered = [...samples.keys()].filter((subject) => this.#gathered.has(subject));
    if (gathered.length > 0) this.#write(database, gathered);
    this.#writeRows(database, samples.keys(), (series, subject) => {
      const newestMs = new Map(series.names.map((name) => [name, series.newestMs(name) ?? 0]));
      const later = (samples.get(subject) ?? []).filter(({ atMs, values }) =>
        Object.keys(values).every((name) => atMs > (newestMs.get(name) ?? 0)),
      );
      series.addPast(later);
    });
  }

  #write(database: DatabaseSync, due: readonly string[]): void {
    this.#writeRows(database, due, (series, subject) => {
      for (const { atMs, values } of this.#gathered.get(subject)?.samples ?? []) series.add(atMs, 0, values);
    });
    for (const subject of due) this.#gathered.delete(subject);
  }

  /** Changes the series of the subjects in one transaction. */
  #writeRows(
    database: DatabaseSync,
    subjects: Iterable<string>,
    change: (series: Series, subject: string) => void,
  ): void {
    const find = database.prepare("SELECT series, packed FROM series WHERE subject = ?");
    const put = database.prepare(
      `INSERT INTO series (subject, newest_ms, series, packed) VALUES (?, ?, '', ?)
       ON CONFLICT (subject) DO UPDATE SET newest_ms = excluded.newest_ms, series = '', packed = excluded.packed`,
    );
    database.exec("BEGIN");
    try {
      for (const subject of subjects) {
        const row = find.get(subject);
        const series = row === undefined ? new Series({ names: [], points: [] }, SUBJECT_NAMES_MAX) : seriesFrom(row);
        change(series, subject);
        put.run(subject, series.newestMs() ?? 0, packed(series));
      }
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }
}

/** Takes over the readings of accelerators from the table of a store with format 1. */
export function moveAccelerators(database: DatabaseSync): void {
  const isThere = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'accelerators'").get();
  if (isThere === undefined) return;
  database.exec(`
    INSERT OR IGNORE INTO series (subject, newest_ms, series)
      SELECT 'accelerator:' || node || '#' || accelerator, newest_ms, series FROM accelerators;
    DROP TABLE accelerators;
  `);
}

interface StoredRow {
  readonly series?: unknown;
  readonly packed?: unknown;
}

/** Level 1 halves the processor time of the default, and its rows are a twentieth larger. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const packed = (series: Series): Uint8Array => zstdCompressSync(JSON.stringify(series.stored()), compression);

/** Rows of a store with format 2 have text. */
const storedIn = ({ series, packed: bytes }: StoredRow): StoredSeries =>
  JSON.parse(bytes instanceof Uint8Array ? zstdDecompressSync(bytes).toString() : String(series)) as StoredSeries;
const seriesFrom = (row: StoredRow): Series => new Series(storedIn(row), SUBJECT_NAMES_MAX);

/** The series in a row of the store. */
export const storedSeries = (row: Readonly<Record<string, unknown>>): Series => seriesFrom(row);

/** Adds the column of compressed series to a store with format 2. */
export function addPackedColumn(database: DatabaseSync): void {
  const columns = database.prepare("PRAGMA table_info(series)").all();
  if (!columns.some(({ name }) => name === "packed")) database.exec("ALTER TABLE series ADD COLUMN packed BLOB");
}
