/**
 * Creates the directories of an attempt before its launch is recorded. Another job, or a launch that was interrupted, may
 * have left something under their names. Links and files are moved aside, directories are kept: another executor may have
 * made them for the same launch. Records that nobody could have written for this attempt are removed.
 */
import { lstatSync, rmSync } from "node:fs";
import { randomUUID } from "node:crypto";
import path from "node:path";
import { makeDirectory } from "@headroom/platform";
import type { AttemptFiles } from "./attempt-files.ts";
import type { RecordName } from "./attempt-records.ts";
import { attemptsDirOf, workRootOf } from "./attempt-files.ts";
import { recordNames } from "./attempt-records.ts";
import { ASIDE_PREFIX } from "./attempt-names.ts";
import type { FileOwner } from "./untrusted-files.ts";
import { ensureDirectory, inDirectory } from "./untrusted-files.ts";

/** Workers whose directories are made in one turn. */
const RANKS_AT_ONCE = 4;

/** A gang of a thousand workers has thousands of directories: nothing else would happen for two seconds. */
export async function inTurns(workerCount: number, make: (rank: number) => void): Promise<void> {
  for (let rank = 0; rank < workerCount; rank++) {
    make(rank);
    if (rank % RANKS_AT_ONCE === RANKS_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * `owner`: the user as whom the attempt runs, if that is not the user of this process. `recordsOwner`: the user whose supervisor writes the
 * records.
 */
export function makeAttemptDirectories(
  files: AttemptFiles,
  workerCount: number,
  owner: FileOwner | null = null,
  recordsOwner: FileOwner | null = owner,
): void {
  const { homeDir, name } = files.key;
  const attemptsDir = attemptsDirOf(homeDir);
  const workRoot = workRootOf(homeDir);
  // A job may have removed the directory of all jobs.
  for (const root of [workRoot, files.requestRoot]) makeDirectory(root, 0o700);
  for (const root of [workRoot, files.requestRoot]) ensureIn(root, [], name, owner);
  ensureIn(attemptsDir, [], name, recordsOwner);
  ensureIn(workRoot, [name], "dir");
  for (let worker = 0; worker < workerCount; worker++)
    ensureIn(attemptsDir, [name], path.basename(files.workerDir(worker)));
  for (const record of recordNames) removeUnlessAuthentic(files, record);
  if (lstatSync(files.supervisorLog, { throwIfNoEntry: false })?.isFile() === false)
    rmSync(files.supervisorLog, { recursive: true, force: true });
}

function ensureIn(root: string, segments: readonly string[], name: string, owner: FileOwner | null = null): void {
  inDirectory(root, segments, (directory) => ensureDirectory(directory, name, ASIDE_PREFIX + randomUUID(), owner));
}

function removeUnlessAuthentic(files: AttemptFiles, record: RecordName): void {
  if (files.has(record) && files.readIfSound(record) === null)
    rmSync(path.join(files.recordsDir, record), { recursive: true, force: true });
}
