import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { syncPath } from "./sync-path.ts";

/**
 * Creates a directory with its parents. Node's own version (26.10) loops and takes all memory if the kernel answers
 * ENOENT below an existing parent, as everywhere in /proc. Paths come from workload files, so this can happen.
 */
export function makeDirectory(directory: string, mode = 0o777): void {
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(directory).isDirectory()) return;
    const parent = path.dirname(directory);
    if (code !== "ENOENT" || existsSync(parent)) throw error;
    makeDirectory(parent, mode);
    makeDirectory(directory, mode);
  }
}

/**
 * Creates a directory as `makeDirectory` does, so that it survives a power cut. Every name on the path is synced, also
 * that of an existing directory, because the process that created it may have been killed before syncing. It stops at
 * directories in which this user cannot create names, and at a mount point.
 */
export function makeDurableDirectory(directory: string, mode?: number): void {
  makeDirectory(directory, mode);
  let at = path.resolve(directory);
  for (let parent = path.dirname(at); mayHaveMade(at, parent); parent = path.dirname(at)) {
    syncPath(parent);
    at = parent;
  }
}

function mayHaveMade(directory: string, parent: string): boolean {
  if (parent === directory || statSync(parent).dev !== statSync(directory).dev) return false;
  try {
    accessSync(parent, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
