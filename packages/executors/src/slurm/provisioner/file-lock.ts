/** A lock between processes of this machine: a file that names its holder. A lock whose holder has ended is taken over. */
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const WAIT_MAX_MS = 45_000;
const POLL_MS = 50;

/** Runs `work` while no other process holds the lock. Throws an error if it is not free within 45 s. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, String(process.pid), { mode: 0o600 });
  try {
    const deadlineMs = performance.now() + WAIT_MAX_MS;
    // A hard link appears with its content: no other process ever reads a lock without a holder.
    while (!isLinked(own, file)) {
      dropIfDead(file);
      if (performance.now() > deadlineMs)
        throw new Error(`${file} is held by the process ${readFileSync(file, "utf8")}. Try again later.`);
      await pause(POLL_MS);
    }
    try {
      return await work();
    } finally {
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function isLinked(own: string, file: string): boolean {
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function dropIfDead(file: string): void {
  try {
    process.kill(Number(readFileSync(file, "utf8")), 0);
  } catch (error) {
    // The holder has ended (ESRCH), or the lock has just been freed (ENOENT).
    if ((error as NodeJS.ErrnoException).code === "ESRCH") rmSync(file, { force: true });
  }
}
