import { closeSync, fsyncSync, openSync } from "node:fs";

/** What was written to a file is on the disk, or, of a directory, the names in it: syncing a file does not keep its name (fsync(2)). */
export function syncPath(target: string): void {
  const descriptor = openSync(target, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
