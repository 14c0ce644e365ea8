/**
 * Files of a worker's stream. `stdout.log` begins at byte 0, `stdout.log.<n>` at byte n, and files are only appended
 * to. Nothing is renamed, so a reader keeps its place while the writer continues and removes old files.
 */
import { constants, readdirSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open, readlink, realpath } from "node:fs/promises";
import path from "node:path";
import type { LogStream } from "../executor.ts";
import { isMissing } from "./attempt-files.ts";

export interface LogFile {
  readonly name: string;
  readonly startByte: number;
}

/** Flags for reading a log or its times. They follow no link, and do not wait for the writer of a FIFO. */
const READ_LOG = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Opens a log or its times. The job of another user owns the directory of its worker, and could exchange it for a link to the logs of
 * someone else: so the place of the opened file is checked, not its name (proc(5), `/proc/self/fd`).
 */
export async function openLog(workerDir: string, name: string): Promise<FileHandle> {
  const file = await open(path.join(workerDir, name), READ_LOG);
  try {
    const records = path.dirname(workerDir);
    const trusted = await realpath(path.dirname(records));
    const expected = path.join(trusted, path.basename(records), path.basename(workerDir), name);
    const found = (await readlink(`/proc/self/fd/${file.fd}`)).replace(/ \(deleted\)$/, "");
    if (found === expected && (await file.stat()).nlink <= 1) return file;
    throw new Error(`${path.join(workerDir, name)} is not a file of its own`);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** File with the times of the log file that begins at the same byte. Its lines are `byte milliseconds`. */
export function logTimesName(stream: LogStream, startByte: number): string {
  return `${stream}.times.${startByte}`;
}

export function logFileName(stream: LogStream, startByte: number): string {
  return startByte === 0 ? `${stream}.log` : `${stream}.log.${startByte}`;
}

/** The files of one stream that rotation has kept, oldest first. The last one is still being written. */
export function listLogFiles(workerDir: string, stream: LogStream): LogFile[] {
  let names: string[];
  try {
    names = readdirSync(workerDir);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  const files: LogFile[] = [];
  const prefix = `${stream}.log`;
  for (const name of names) {
    if (name === prefix) files.push({ name, startByte: 0 });
    else if (name.startsWith(`${prefix}.`)) files.push({ name, startByte: Number(name.slice(prefix.length + 1)) });
  }
  return files.toSorted((a, b) => a.startByte - b.startByte);
}
