/**
 * A lock between processes of this machine. SQLite locks the file by fcntl(2) (sqlite.org/lockingv3.html), so the kernel frees it
 * when its holder ends, however it ends: nothing is taken over, and the id of an ended process that another one got holds nothing.
 */
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";

const WAIT_MAX_MS = 45_000;
const POLL_MS = 50;
/** Result code of SQLite: another connection has the lock. */
const SQLITE_BUSY = 5;

/** Runs `work` while no other process holds the lock. Throws an error if it is not free within 45 s. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    const deadlineMs = performance.now() + WAIT_MAX_MS;
    while (!isTaken(lock)) {
      if (performance.now() > deadlineMs) throw new Error(`${file} is locked by another process. Try again later.`);
      await pause(POLL_MS);
    }
    return await work();
  } finally {
    // The lock ends with its connection. Nothing was written.
    lock.close();
  }
}

function isTaken(lock: DatabaseSync): boolean {
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if ((error as { readonly errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
