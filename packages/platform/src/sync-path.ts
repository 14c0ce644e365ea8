import { closeSync, fsyncSync, openSync } from "node:fs";

/** Syncs a file's content, or for a directory its names, to disk: syncing a file does not sync its name (fsync(2)). */
export function syncPath(target: string): void {
  const descriptor = openSync(target, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
