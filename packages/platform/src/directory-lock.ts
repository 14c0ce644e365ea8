/**
 * Allows only one process for each directory. The lock is a POSIX record lock that SQLite holds on an empty file (an
 * open `BEGIN EXCLUSIVE`): the kernel releases it when the process ends, however it ends. The lock cannot become stale,
 * process ids do not matter, and of two starting processes only one gets it. `owner.json` beside the lock only names
 * the holder.
 */
import { lstatSync, readFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { writePrivateFile } from "./held-directory.ts";
import { makePrivateFile } from "./make-private-file.ts";

export interface DirectoryLock {
  /** Releases the lock; may be called more than once. */
  release(): void;
}

export type LockOutcome =
  | { readonly kind: "locked"; readonly lock: DirectoryLock }
  /** `holder` names the process that holds the lock, for an operator: `process 4711`, or `another process`. */
  | { readonly kind: "held"; readonly holder: string };

const SQLITE_BUSY = 5;

/** Throws the errors of Node's file system or of SQLite if the directory cannot be written. */
export function lockDirectory(directory: string, nowMs: number): LockOutcome {
  const ownerPath = path.join(directory, "owner.json");
  const file = path.join(directory, "lock.db");
  makePrivateFile(file);
  // SQLite would make and lock the file to which it leads.
  if (lstatSync(file).isSymbolicLink()) throw new Error(`${file} is a link. Remove it.`);
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // The rollback journal is kept in memory; otherwise SQLite creates an empty file for it beside the database.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    writePrivateFile(ownerPath, `${JSON.stringify({ pid: process.pid, startedAtMs: nowMs })}\n`);
  } catch (error) {
    database.close();
    const isHeld = error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
    if (isHeld) return { kind: "held", holder: holderIn(ownerPath) };
    throw error;
  }
  const release = (): void => {
    if (database.isOpen) database.close();
  };
  return { kind: "locked", lock: { release } };
}

function holderIn(ownerPath: string): string {
  try {
    const owner: unknown = JSON.parse(readFileSync(ownerPath, "utf8"));
    if (typeof owner === "object" && owner !== null && "pid" in owner) return `process ${String(owner.pid)}`;
  } catch {
    // The owner holds the lock but has not written `owner.json` yet. "another process" is true in both cases.
  }
  return "another process";
}
