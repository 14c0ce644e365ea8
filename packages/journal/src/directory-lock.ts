/**
 * One control plane per directory. The lock is a POSIX record lock that SQLite holds on an empty file (an open `BEGIN
 * EXCLUSIVE`): the kernel releases it when the process ends, however it ends. It cannot become stale, no process id can
 * be recycled, and two starters cannot both win. `owner.json` beside it only names the holder.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { OperationalError, makePrivateFile } from "@headroom/platform";
import { journalError } from "./journal-error.ts";

export interface DirectoryLock {
  release(): void;
}

const SQLITE_BUSY = 5;

export function lockDirectory(directory: string, nowMs: number): DirectoryLock {
  const ownerPath = path.join(directory, "owner.json");
  let database: DatabaseSync;
  try {
    const file = path.join(directory, "lock.db");
    makePrivateFile(file);
    database = new DatabaseSync(file, { timeout: 0 });
  } catch (error) {
    throw journalError(error, "opening lock.db", directory);
  }
  try {
    // The rollback journal is kept in memory; otherwise SQLite creates an empty file for it beside the database.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    writeFileSync(ownerPath, `${JSON.stringify({ pid: process.pid, startedAtMs: nowMs })}\n`, { mode: 0o600 });
  } catch (error) {
    database.close();
    const isHeld = error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
    throw isHeld ? alreadyRunning(directory, ownerPath) : journalError(error, "locking", directory);
  }
  return { release: () => database.close() };
}

function alreadyRunning(directory: string, ownerPath: string): OperationalError {
  let who = "another process";
  try {
    const owner: unknown = JSON.parse(readFileSync(ownerPath, "utf8"));
    if (typeof owner === "object" && owner !== null && "pid" in owner) who = `process ${String(owner.pid)}`;
  } catch {
    // The owner holds the lock but has not written `owner.json` yet; the message "another process" is true in both
    // cases.
  }
  return new OperationalError(
    "journalInUse",
    `A control plane is already running on ${directory} (${who}). Use that one, stop it first, or set HEADROOM_HOME to another directory.`,
  );
}
