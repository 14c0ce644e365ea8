/**
 * The directory of an attempt: the one thing that supervisor and control plane share. Each file has one writer and is
 * whole from the moment it exists. Only launch and exit must survive a power cut: the launch names its boot, and whatever is
 * missing of the others belongs to processes that are gone with it. In the order in which they appear:
 *
 *   launch.json   control plane  what to run; on disk (synced) before anything starts
 *   claim.json    who takes it   a hard link, so that exactly one process ever holds an attempt and nobody sees it half written
 *   workers.json  supervisor     pids of the workers, before any of them executes the workload's command
 *   running.json  supervisor     all workers have been let go
 *   resize.json   control plane  which size the gang is to have from now on (`resize-records.ts`)
 *   size.json     supervisor     what has become of that
 *   checkpoint-request.json  control plane  asks the workers for a checkpoint, before a stop; they look whether it is there
 *   stop.json     control plane  asks for a stop
 *   exit.json     supervisor     the end (synced); a hard link too, so that the first record stands
 *                                (or the control plane, for an attempt whose supervisor is dead and whose processes are gone)
 *
 * Beside them `progress.jsonl`, written by the workers, and `worker-<n>/` with the logs (made before the launch record). The formats carry a version, since
 * a supervisor of an older release may run for weeks under a newer control plane.
 */
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { open, rename } from "node:fs/promises";
import path from "node:path";
import type { AttemptId, StopReason, WorkerExit, WorkloadId } from "@headroom/engine";
import type { WorkerUsage } from "../executor.ts";
import type { ProcessIdentity } from "./process-table.ts";
import type { ResizeRecord, SizeRecord, WorkersRecord } from "./resize-records.ts";

export interface LaunchRecord {
  readonly version: 1;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly sequence: number;
  readonly bootId: string;
  readonly run: string;
  /** Absolute. */
  readonly workingDir: string;
  readonly checkpointDir: string;
  readonly graceTimeoutMs: number;
  readonly log: LogLimits;
  /** By rank; everything but `MASTER_PORT`, which the supervisor chooses. */
  readonly environments: readonly Readonly<Record<string, string>>[];
}

export interface LogLimits {
  readonly fileMaxBytes: number;
  readonly filesKept: number;
}

export type ClaimRecord =
  | { readonly version: 1; readonly kind: "supervised"; readonly supervisor: ProcessIdentity }
  /** Taken by the control plane so that nobody else can: this attempt never starts. */
  | { readonly version: 1; readonly kind: "void"; readonly detail: string };

export interface RunningRecord {
  readonly version: 1;
  readonly startedAtMs: number;
  readonly masterPort: number;
  /** Its supervisor looks for `resize.json`; absent: it is of a release that did not. */
  readonly resizes?: true;
}

export interface CheckpointRequestRecord {
  readonly version: 1;
  readonly requestedAtMs: number;
  /** How long the stop waits for it. */
  readonly untilMs: number;
}

export interface StopRecord {
  readonly version: 1;
  readonly requestedAtMs: number;
  readonly graceTimeoutMs: number;
  readonly reason: StopReason;
}

export type ExitRecord =
  | {
      readonly version: 1;
      readonly kind: "exited";
      readonly startedAtMs: number;
      readonly endedAtMs: number;
      readonly exits: readonly WorkerExit[];
      readonly usage: readonly WorkerUsage[];
    }
  | { readonly version: 1; readonly kind: "lost"; readonly endedAtMs: number; readonly detail: string };

interface Records {
  readonly "launch.json": LaunchRecord;
  readonly "claim.json": ClaimRecord;
  readonly "workers.json": WorkersRecord;
  readonly "running.json": RunningRecord;
  readonly "resize.json": ResizeRecord;
  readonly "size.json": SizeRecord;
  readonly "checkpoint-request.json": CheckpointRequestRecord;
  readonly "stop.json": StopRecord;
  readonly "exit.json": ExitRecord;
}
type RecordName = keyof Records;

/** `null` when the file is not there; what is there is whole, so anything else is a bug or a damaged disk and throws. */
export function readRecord<Name extends RecordName>(attemptDir: string, name: Name): Records[Name] | null {
  const file = path.join(attemptDir, name);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  const record: unknown = JSON.parse(text);
  const version = typeof record === "object" && record !== null && "version" in record ? record.version : undefined;
  if (version !== 1) throw new Error(`${file} has format version ${String(version)}; this release reads 1`);
  return record as Records[Name];
}

/** Replaces a record in one step. It survives the end of this process, not a power cut. */
export function writeRecord<Name extends RecordName>(attemptDir: string, name: Name, record: Records[Name]): void {
  const temporary = temporaryPath(attemptDir, name);
  writeFileSync(temporary, JSON.stringify(record), { mode: 0o600 });
  renameSync(temporary, path.join(attemptDir, name));
}

/** As `writeRecord`, and the record is on disk when this resolves. */
export async function writeRecordDurably<Name extends RecordName>(
  attemptDir: string,
  name: Name,
  record: Records[Name],
): Promise<void> {
  const temporary = temporaryPath(attemptDir, name);
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(JSON.stringify(record));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path.join(attemptDir, name));
  await syncDirectory(attemptDir);
}

/** Creates a record that must not exist yet, whole. False when somebody else was first: theirs stands. */
export function createRecord<Name extends RecordName>(attemptDir: string, name: Name, record: Records[Name]): boolean {
  return linkRecord(attemptDir, name, { text: JSON.stringify(record), sync: () => {} });
}

/** As `createRecord`, and what was created is on disk. */
export function createRecordDurably<Name extends RecordName>(
  attemptDir: string,
  name: Name,
  record: Records[Name],
): boolean {
  return linkRecord(attemptDir, name, { text: JSON.stringify(record), sync: fsyncSync });
}

interface RecordText {
  readonly text: string;
  /** Called for the file and then for its directory. */
  readonly sync: (file: number) => void;
}

/** A hard link to a finished file is both exclusive and whole (link(2)); O_EXCL alone would show it while it is written. */
function linkRecord(attemptDir: string, name: string, { text, sync }: RecordText): boolean {
  const temporary = temporaryPath(attemptDir, name);
  withFile(openSync(temporary, "w", 0o600), (file) => {
    writeFileSync(file, text);
    sync(file);
  });
  try {
    linkSync(temporary, path.join(attemptDir, name));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    unlinkSync(temporary);
  }
  withFile(openSync(attemptDir, "r"), sync);
  return true;
}

function withFile(file: number, use: (file: number) => void): void {
  try {
    use(file);
  } finally {
    closeSync(file);
  }
}

/** Makes the names in a directory survive a power cut: syncing a file does not (fsync(2)). */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Tells the control plane that something changed here. It watches the parent of all attempts, where a change of times of an
 * entry shows (inotify(7), IN_ATTRIB) and the traffic inside the attempts does not: one watch, whatever their number.
 */
export function ringBell(attemptDir: string): void {
  const now = new Date();
  utimesSync(attemptDir, now, now);
}

/** Also where a stray file stands in the place of a directory. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

let temporaryCount = 0;

/** A name of its own for each writer, so that two which race never write into one file; what a dead one left is overwritten. */
function temporaryPath(attemptDir: string, name: string): string {
  temporaryCount += 1;
  return path.join(attemptDir, `.${name}.${process.pid}.${temporaryCount}`);
}

export const progressFileOf = (attemptDir: string): string => path.join(attemptDir, "progress.jsonl");
export const checkpointRequestFileOf = (attemptDir: string): string => path.join(attemptDir, "checkpoint-request.json");
export const workerDirOf = (attemptDir: string, worker: number): string => path.join(attemptDir, `worker-${worker}`);
export const supervisorLogOf = (attemptDir: string): string => path.join(attemptDir, "supervisor.log");
/** The assignment in the environment of everything an attempt started, and of nothing else. */
export const environmentMarkOf = (attemptDir: string): string => `HEADROOM_PROGRESS_FILE=${progressFileOf(attemptDir)}`;
/** With that one, the assignment in the environment of everything that one worker started. */
export const workerMarkOf = (workerId: string): string => `HEADROOM_WORKER_ID=${workerId}`;

/** As much of what a supervisor printed as belongs into a sentence for people. */
const LAST_WORDS_MAX = 300;

/** A supervisor prints only when something went wrong: that, to be put behind a sentence, or nothing. */
export function supervisorLastWords(attemptDir: string): string {
  let text = "";
  try {
    text = readFileSync(supervisorLogOf(attemptDir), "utf8").trim();
  } catch {
    // It never came as far as its log.
  }
  return text === "" ? "" : ` It said: ${text.slice(-LAST_WORDS_MAX)}`;
}
