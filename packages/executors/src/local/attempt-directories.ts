/**
 * Creates the directories of an attempt before its launch is recorded. Another job, or a launch that was interrupted, may
 * have left something under their names. It is moved aside, because neither its content nor its owner can be relied on.
 */
import { mkdirSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { makeDirectory } from "@headroom/platform";
import type { AttemptFiles } from "./attempt-files.ts";
import { attemptsDirOf, workerDirOf, workRootOf } from "./attempt-files.ts";
import { ASIDE_PREFIX } from "./attempt-names.ts";
import { inDirectory, makeFreshDirectory, nameIn } from "./untrusted-files.ts";

export function makeAttemptDirectories(files: AttemptFiles, workerCount: number): void {
  const { homeDir, name } = files.key;
  // A job may have removed the directory of all jobs.
  for (const root of [workRootOf(homeDir), files.requestRoot]) {
    makeDirectory(root, 0o700);
    inDirectory(root, [], (directory) => makeFreshDirectory(directory, name, asideName()));
  }
  inDirectory(attemptsDirOf(homeDir), [], (directory) => makeFreshDirectory(directory, name, asideName()));
  for (let worker = 0; worker < workerCount; worker++)
    mkdirSync(workerDirOf(files.recordsDir, worker), { mode: 0o700 });
  inDirectory(workRootOf(homeDir), [name], (directory) => mkdirSync(nameIn(directory, "dir"), { mode: 0o700 }));
}

const asideName = (): string => ASIDE_PREFIX + randomUUID();
