/** The state directory of the control plane is no store: its records and secrets must not become inputs of work. */
import { realpathSync } from "node:fs";
import path from "node:path";

/** Whether one of the directories contains the other, also through links. */
export function overlaps(folder: string, stateDir: string): boolean {
  const [left, right] = [realOf(folder), realOf(stateDir)];
  return isWithin(left, right) || isWithin(right, left);
}

const isWithin = (outer: string, inner: string): boolean => !path.relative(outer, inner).split(path.sep).includes("..");

/** The path without links, as far as it exists. */
function realOf(folder: string): string {
  const absolute = path.resolve(folder);
  try {
    return realpathSync(absolute);
  } catch {
    const parent = path.dirname(absolute);
    return parent === absolute ? absolute : path.join(realOf(parent), path.basename(absolute));
  }
}
