import { closeSync, openSync } from "node:fs";

const OWNER_ONLY = 0o600;

/**
 * Makes an empty file that only its owner can read and write, whatever the umask. An existing file stays unchanged. It
 * is for files that a library opens without a mode. An existing file is not opened, because closing a second descriptor
 * would release SQLite's POSIX locks.
 */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", OWNER_ONLY));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
