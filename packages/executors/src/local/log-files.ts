/**
 * Where the bytes of a worker's stream lie: `stdout.log` begins at byte 0, `stdout.log.<n>` at byte n, and a file is only ever
 * appended to. Nothing is renamed, so a reader at any byte stays where it is while the writer goes on and drops old files.
 */
import { readdirSync } from "node:fs";
import type { LogStream } from "../executor.ts";
import { isMissing } from "./attempt-files.ts";

export interface LogFile {
  readonly name: string;
  readonly startByte: number;
}

/** The file that says when the bytes of the log file with the same first byte were written: lines of `byte milliseconds`. */
export function logTimesName(stream: LogStream, startByte: number): string {
  return `${stream}.times.${startByte}`;
}

export function logFileName(stream: LogStream, startByte: number): string {
  return startByte === 0 ? `${stream}.log` : `${stream}.log.${startByte}`;
}

/** The files of one stream that rotation has left, oldest first; the last is the one being written. */
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
