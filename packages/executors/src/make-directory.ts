import { existsSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";

/**
 * `mkdir -p`. Node's own (26.10) never comes back, and takes all memory, where the kernel answers ENOENT below a parent that
 * exists, as it does everywhere in /proc; and paths come from workload files.
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
