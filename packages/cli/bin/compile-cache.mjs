// @ts-check
/**
 * Lets Node keep compiled sources between commands. They are code that the next command runs, so they lie in a directory
 * of the user's own: Node's usual one, below the directory for temporary files, could be another user's. Without such a
 * directory, or on a Node before 22.8, nothing is kept. `NODE_COMPILE_CACHE`, if it is set, names the user's own choice.
 */
import { lstatSync, mkdirSync, statSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import path from "node:path";
import process from "node:process";

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Whether nobody else can put another directory in the place of the user's own.
 * @param {string} base
 */
function isSafeBase(base) {
  const { mode, uid } = statSync(base);
  const isOwned = uid === 0 || uid === process.getuid?.();
  return isOwned && ((mode & WRITABLE_BY_OTHERS) === 0 || (mode & STICKY) !== 0);
}

/**
 * A directory below the user's cache directory; `null`: it cannot be made, or others could write into it.
 * @returns {string | null}
 */
function ownDirectory() {
  const stated = process.env["XDG_CACHE_HOME"];
  const base = stated !== undefined && path.isAbsolute(stated) ? stated : path.join(homedir(), ".cache");
  const directory = path.join(base, "headroom", "compiled");
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (!isSafeBase(base)) return null;
    for (const each of [path.dirname(directory), directory]) {
      const found = lstatSync(each);
      if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & WRITABLE_BY_OTHERS) !== 0)
        return null;
    }
    return directory;
  } catch {
    return null;
  }
}

if (process.env["NODE_COMPILE_CACHE"] === undefined) {
  const directory = ownDirectory();
  if (directory !== null) module.enableCompileCache?.(directory);
}
