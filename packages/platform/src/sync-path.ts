import { closeSync, fsyncSync, openSync } from "node:fs";

/**
 * Syncs to disk the content of a file, or the names in a directory: syncing a file does not sync its name (fsync(2)).
 */
export function syncPath(target: string): void {
  const descriptor = openSync(target, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
