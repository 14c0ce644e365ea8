/** Files that carry the data rules of the bytes in them, as lines `rule=NAME`. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

/** The rules of a file: those of all the data from which it was made. */
export const rulesIn = (text: string): readonly string[] =>
  [...text.matchAll(/rule=(\S+)/g)].map(([, rule = ""]) => rule);

/** The rules of a file, or of all files below a folder; `null`: there is nothing. */
export function rulesAt(at: string): readonly string[] | null {
  const stat = statSync(at, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  if (stat.isFile()) return rulesIn(readFileSync(at, "utf8"));
  return readdirSync(at).flatMap((name) => rulesAt(path.join(at, name)) ?? []);
}

export function filesBelow(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => path.join(each.parentPath, each.name))
    .filter((each) => !each.includes(".headroom-drafts"));
}

export function hasFiles(dir: string): boolean {
  try {
    return filesBelow(dir).length > 0;
  } catch {
    return false;
  }
}
