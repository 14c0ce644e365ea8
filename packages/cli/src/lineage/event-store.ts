/**
 * OpenLineage events of other systems in `lineage.db` of a state directory. An event is kept as written, with facets that Headroom does
 * not know, and once, however often its file is imported.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { CliError } from "../cli-error.ts";

/** Bounds of the store. */
const EVENTS_MAX = 5_000_000;
const BYTES_MAX = 8 * 2 ** 30;
const EVENTS_PER_TRANSACTION = 2_000;
const BUSY_TIMEOUT_MS = 5_000;

const schema = `CREATE TABLE IF NOT EXISTS event (
  number INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT`;

const fileOf = (home: string): string => path.join(home, "lineage.db");

export const hasImportedEvents = (home: string): boolean => existsSync(fileOf(home));

/** The events as written, in the order of their import. */
export function* importedEvents(home: string): Generator<string> {
  const database = new DatabaseSync(fileOf(home), { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    for (const row of database.prepare("SELECT text FROM event ORDER BY number").iterate()) yield String(row["text"]);
  } finally {
    database.close();
  }
}

export class EventStore {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  #pending = 0;
  #count: number;
  #bytes: number;
  storedCount = 0;

  constructor(home: string) {
    this.#database = new DatabaseSync(fileOf(home), { timeout: BUSY_TIMEOUT_MS });
    this.#database.exec("PRAGMA journal_mode = WAL");
    this.#database.exec(schema);
    const [totals] = this.#database
      .prepare("SELECT count(*) AS count, coalesce(sum(length(text)), 0) AS bytes FROM event")
      .all();
    this.#count = Number(totals?.["count"]);
    this.#bytes = Number(totals?.["bytes"]);
    this.#insert = this.#database.prepare("INSERT OR IGNORE INTO event (digest, text) VALUES (?, ?)");
  }

  add(text: string): void {
    if (this.#count >= EVENTS_MAX || this.#bytes + text.length > BYTES_MAX)
      throw new CliError(
        `lineage.db is full: it holds ${this.#count} events of at most ${EVENTS_MAX}, or ${BYTES_MAX} bytes. Move the file away to start a new one.`,
      );
    if (this.#pending === 0) this.#database.exec("BEGIN IMMEDIATE");
    const { changes } = this.#insert.run(createHash("sha256").update(text).digest(), text);
    if (Number(changes) > 0) {
      this.storedCount += 1;
      this.#count += 1;
      this.#bytes += text.length;
    }
    this.#pending += 1;
    if (this.#pending >= EVENTS_PER_TRANSACTION) this.#commit();
  }

  #commit(): void {
    if (this.#pending > 0) this.#database.exec("COMMIT");
    this.#pending = 0;
  }

  close(): void {
    try {
      this.#commit();
    } finally {
      this.#database.close();
    }
  }
}
