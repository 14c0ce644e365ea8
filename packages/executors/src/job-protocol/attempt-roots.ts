/**
 * Directories of an attempt in which the control plane reads and writes with its own rights. A job can put links in the places of its
 * directories, to files of this machine, so a directory counts only where it must be by its name.
 */
import { realpath } from "node:fs/promises";
import path from "node:path";
import { checkpointRootOf, workRootOf } from "./attempt-files.ts";
import { isWithin } from "./untrusted-files.ts";

export interface AttemptPlaces {
  readonly workingDir: string;
  readonly checkpointDir: string;
  /** Directory with the own directories of attempts. Files in it are read in own directories alone. */
  readonly homeDir: string;
  /** Directories elsewhere that the submitter named are read below these alone. Absent: all are. */
  readonly namedBelow?: readonly string[];
}

/** The path without links, if it is in the directories of the attempt; `null`: it is elsewhere. */
export async function readableIn(target: string, places: AttemptPlaces): Promise<string | null> {
  if (!path.isAbsolute(target)) return null;
  const real = await realpath(target);
  const home = await realOf(places.homeDir);
  for (const directory of [places.workingDir, places.checkpointDir]) {
    const root = await rootOf(directory, places);
    if (root === null || !isWithin(root, real)) continue;
    if (isWithin(home, root) || !isWithin(home, real)) return real;
  }
  return null;
}

/** The real path that the directory must have; `null`: its files are neither read nor written. */
export async function rootOf(
  directory: string,
  { homeDir, namedBelow }: Pick<AttemptPlaces, "homeDir" | "namedBelow">,
): Promise<string | null> {
  if (!path.isAbsolute(directory)) return null;
  const home = await realOf(homeDir);
  const within = path.relative(homeDir, path.resolve(directory));
  const own = path.join(home, within);
  if (isWithin(workRootOf(home), own) || isWithin(checkpointRootOf(home), own)) return own;
  const real = await realOf(directory);
  if (isWithin(home, real)) return null;
  if (namedBelow === undefined) return real;
  for (const each of namedBelow) if (isWithin(await realOf(each), real)) return real;
  return null;
}

const realOf = (directory: string): Promise<string> => realpath(directory).catch(() => directory);
