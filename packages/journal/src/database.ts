/** Opens the journal's database with the settings that durability and concurrent readers depend on. */
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makePrivateFile } from "@headroom/platform";

export const databasePath = (directory: string): string => path.join(directory, "journal.db");

/**
 * Timeout in ms while another process, such as a SQLite shell, has the journal locked. Such locks last only moments.
 */
const BUSY_TIMEOUT_MS = 5_000;
/** Size in bytes to which the write-ahead log shrinks after a burst. */
const WAL_SIZE_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Settings of the writer. The file is in WAL mode (`schema.ts`). With that and `synchronous=FULL`, a commit returns
 * after the log is synced, and readers see a commit only then. Checkpoints are explicit (`wal_autocheckpoint = 0`), so
 * that no checkpoint delays an answer.
 */
export function openForWriting(directory: string, synchronous: "full" | "off"): DatabaseSync {
  const file = databasePath(directory);
  // SQLite gives the write-ahead log the mode of the database.
  makePrivateFile(file);
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
  database.exec(`
    PRAGMA synchronous = ${synchronous === "full" ? "FULL" : "OFF"};
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = ${WAL_SIZE_LIMIT_BYTES};
    PRAGMA cache_size = -16384;
  `);
  return database;
}

export function openForReading(directory: string): DatabaseSync {
  return new DatabaseSync(databasePath(directory), { readOnly: true, timeout: BUSY_TIMEOUT_MS });
}
