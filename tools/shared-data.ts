/**
 * Third-party data outside the repository. Tests that need it are skipped if it is absent. `.ci/run` finds the test files that
 * compare with it by their import of this file.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const folder = process.env["HEADROOM_SHARED"] ?? path.resolve(import.meta.dirname, "../../shared");

/** The absolute path of a file or folder of the data, or `null` with a warning if it is missing. */
export function sharedData(name: string): string | null {
  const file = path.join(folder, "data", name);
  if (existsSync(file)) return file;
  process.stderr.write(
    `SKIPPED: ${file} is not there, so nothing is compared with it. HEADROOM_SHARED names the folder.\n`,
  );
  return null;
}

export function readLines(file: string): string[] {
  return readFileSync(file, "utf8").split("\n");
}
