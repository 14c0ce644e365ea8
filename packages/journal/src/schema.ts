/**
 * The tables of the embedded journal and the rules of its format. A database of a newer format is refused; one of an
 * older format is migrated in one transaction.
 */
import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { OperationalError } from "@headroom/platform";

/**
 * Version of the format. 2: renamed events and states. 3: states with policies of at most 20 settings. 4: states with
 * records of tasks, and the terms of migration. 5: workloads that were changed after submission, stopped tasks, limits of
 * tasks at once: a version that reads only 4 would start from a snapshot with them and leave them out of account.
 */
export const JOURNAL_FORMAT = 5;
/** Application id "HdRm". `file journal.db` shows it, and a database of another application is refused. */
const APPLICATION_ID = 0x4864526d;

/**
 * `rounds.bytes_before` is the running total of the inputs' length, so that the size of all inputs is one subtraction.
 * `rounds.hash` covers the whole row (`check-rounds.ts`) and is NULL in rows of older versions. Keys are the rowids:
 * appends go to the right-hand edge of the tree, and a group is found without an index.
 */
const TABLES = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE groups (
    first_sequence INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    chain TEXT NOT NULL,
    text TEXT NOT NULL
  ) STRICT;
  CREATE TABLE rounds (
    round INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    first_sequence INTEGER,
    bytes_before INTEGER NOT NULL,
    inputs TEXT NOT NULL,
    hash TEXT
  ) STRICT;
  CREATE TABLE digests (sequence INTEGER PRIMARY KEY, digest TEXT NOT NULL) STRICT;
`;

function pragmaNumber(database: DatabaseSync, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get();
  const value = row === undefined ? undefined : Object.values(row)[0];
  return typeof value === "number" ? value : 0;
}

/** Whether nothing was ever written to the database. */
export function isEmptyDatabase(database: DatabaseSync): boolean {
  return pragmaNumber(database, "user_version") === 0 && tableCountOf(database) === 0;
}

const tableCountOf = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT count(*) AS tables FROM sqlite_schema").get()?.["tables"]);

/** Older versions work with this column and without the column. */
export const hasRoundHashes = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM pragma_table_info('rounds') WHERE name = 'hash'").get() !== undefined;

export function addRoundHashes(database: DatabaseSync): void {
  if (!hasRoundHashes(database)) database.exec("ALTER TABLE rounds ADD COLUMN hash TEXT");
}

/** Whether the digests were computed from states in the present format. The upcaster reads events of any format. */
export const hasComparableDigests = (database: DatabaseSync): boolean =>
  pragmaNumber(database, "user_version") === JOURNAL_FORMAT;

/** Creates a journal in an empty database, or migrates one of an older format. Returns its id. */
export function prepareSchema(database: DatabaseSync, path: string, createdAtMs: number): string {
  if (isEmptyDatabase(database)) createTables(database, createdAtMs);
  const id = journalIdOf(database, path);
  if (!hasComparableDigests(database))
    database.exec(`BEGIN IMMEDIATE; DELETE FROM digests; PRAGMA user_version = ${JOURNAL_FORMAT}; COMMIT`);
  return id;
}

/** The id of a journal of a readable format. */
export function journalIdOf(database: DatabaseSync, path: string): string {
  const format = pragmaNumber(database, "user_version");
  if (pragmaNumber(database, "application_id") !== APPLICATION_ID) {
    throw new OperationalError("journalForeign", `${path} is a SQLite database, but not a journal of Headroom.`);
  }
  if (format > JOURNAL_FORMAT) {
    throw new OperationalError(
      "journalTooNew",
      `${path} has format ${format}; this version of Headroom reads formats up to ${JOURNAL_FORMAT}. Start the newer version that wrote it.`,
    );
  }
  const id = database.prepare("SELECT value FROM meta WHERE key = 'journalId'").get()?.["value"];
  if (typeof id !== "string") throw new OperationalError("journalDamaged", `${path} has lost its id.`);
  return id;
}

/**
 * Takes over the journal: an earlier holder can append nothing more. The directory lock separates control planes on one
 * machine. The epoch also works where a lock does not (a file system that loses the lock, a suspended process).
 */
export function takeLeadership(database: DatabaseSync): number {
  database.exec("BEGIN IMMEDIATE");
  const epoch = readEpoch(database) + 1;
  database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('epoch', ?)").run(String(epoch));
  database.exec("COMMIT");
  return epoch;
}

/** The journal's epoch; 0: a version without epochs wrote the journal. */
function readEpoch(database: DatabaseSync): number {
  return Number(database.prepare("SELECT value FROM meta WHERE key = 'epoch'").get()?.["value"] ?? 0);
}

function createTables(database: DatabaseSync, createdAtMs: number): void {
  database.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
  database.exec(TABLES);
  const insert = database.prepare("INSERT INTO meta (key, value) VALUES (?, ?)");
  insert.run("journalId", randomUUID());
  insert.run("createdAtMs", String(createdAtMs));
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${JOURNAL_FORMAT};`);
  database.exec("COMMIT");
}
