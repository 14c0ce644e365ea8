/**
 * The files of an attempt, in three places: *records* (`attempts/<name>/`, mode 0700), shared and trusted by supervisor and control
 * plane; the *job directory* (`work/<name>/dir/`), in which the workers start; and *requests* to the job (`requests/<name>/`).
 * An isolated job (`isolation/`) sees its job directory and, read-only, its requests. Nothing in these two is trusted.
 *
 * Records are authenticated: HMAC-SHA256 (RFC 2104) under a secret of the attempt that only control plane and supervisor know. A
 * record that is damaged, of another format or not authentic is unreadable. The attempt is then lost; other work is not affected.
 * A job that is not isolated can find records and key (`attempts/.key`) by their absolute paths, so it can destroy them, and forge
 * them with the key.
 *
 * Each record has one writer and is complete as soon as it exists. Only launch.json and exit.json must survive a power cut: the
 * launch contains the boot id, and the other records describe processes that a power cut ends. In the order of creation:
 *
 *   launch.json   control plane  command and environments; synced before any process starts
 *   claim.json    supervisor     a hard link, so that exactly one process holds the attempt and no reader sees a partial record
 *                                (or the control plane, so that the attempt never starts)
 *   workers.json  supervisor     pids of the workers, before any of them executes the workload's command
 *   running.json  supervisor     all workers execute the command
 *   resize.json   control plane  the requested size of the gang (`resize-records.ts`)
 *   size.json     supervisor     the result of the resize
 *   stop.json     control plane  requests a stop
 *   failure.json, fence.json, alive.json   of gangs whose nodes have supervisors of their own (`GangPart`)
 *   exit.json     supervisor     the end; synced, and a hard link, so that the first authentic record is kept
 *                                (or the control plane, if the supervisor is dead and no process of the attempt runs)
 *   next.json     control plane  the attempt to which the job of this one passes (or the supervisor: it waits no longer)
 *
 * Beside the records: `worker-<n>/` with the logs (created before launch.json) and `supervisor.log`. Beside the job directory:
 * `progress.jsonl`, written by the workers. In the requests: `checkpoint-request.json`. `attempts/.claims/<name>` is a mark that a
 * supervisor held the attempt; it outlives the records. Records carry a format version, because a supervisor of an older release
 * may run for weeks under a newer control plane.
 */
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { open, rename } from "node:fs/promises";
import path from "node:path";
import { inheritOwner } from "./untrusted-files.ts";
import type { Records, RecordName } from "./attempt-records.ts";

/**
 * Version of the records' envelope. Version 1 had no envelope: records were in the job's directory and not
 * authenticated.
 */
const FORMAT_VERSION = 2;
const MAC_HEX_LENGTH = 64;
const MAC_START = `{"version":${FORMAT_VERSION},"mac":"`.length;
const BODY_START = MAC_START + MAC_HEX_LENGTH + `","record":`.length;

/** The error for a record that exists and cannot be trusted, or for a required record that is missing. */
export class UnreadableRecord extends Error {
  override readonly name = "UnreadableRecord";
}

/** Identifies an attempt's records and holds their secret. A supervisor receives it only over its standard input. */
export interface AttemptKey {
  readonly homeDir: string;
  /** Name of the attempt's directories; see `attempt-names.ts`. */
  readonly name: string;
  readonly secret: string;
}

export class AttemptFiles {
  readonly key: AttemptKey;
  readonly recordsDir: string;
  /** Directory in which the workers start, unless the workload sets another one. */
  readonly jobDir: string;
  readonly progressFile: string;
  /** Directory of the requests to all attempts. */
  readonly requestRoot: string;
  readonly checkpointRequestFile: string;
  /** Mark that a supervisor held the attempt. If all records are removed, this mark prevents a second start. */
  readonly #claimMark: string;

  constructor(key: AttemptKey) {
    this.key = key;
    this.recordsDir = path.join(attemptsDirOf(key.homeDir), key.name);
    const workDir = path.join(workRootOf(key.homeDir), key.name);
    this.jobDir = path.join(workDir, "dir");
    this.progressFile = path.join(workDir, "progress.jsonl");
    this.requestRoot = requestRootOf(key.homeDir);
    this.checkpointRequestFile = path.join(this.requestRoot, key.name, "checkpoint-request.json");
    this.#claimMark = path.join(claimsDirOf(key.homeDir), key.name);
  }

  get supervisorLog(): string {
    return path.join(this.recordsDir, "supervisor.log");
  }

  /** Assignment that is in the environment of every process of the attempt, and of no other process. */
  get environmentMark(): string {
    return progressMark(this.progressFile);
  }

  workerDir(worker: number): string {
    return workerDirOf(this.recordsDir, worker);
  }

  /** Notes that a supervisor holds the attempt. The mark carries a code, so that only supervisors can make one. */
  markClaimed(): void {
    this.removeClaimMark();
    writeFileSync(this.#claimMark, this.#macOf("claim.json", "mark"), { mode: 0o600, flag: NEW_FILE });
  }

  /** Whether a supervisor has ever held the attempt, even if all records were removed since. */
  get wasClaimed(): boolean {
    try {
      return isSame(readText(this.#claimMark, "claim.json") ?? "", this.#macOf("claim.json", "mark"));
    } catch (error) {
      if (error instanceof UnreadableRecord) return false;
      throw error;
    }
  }

  removeClaimMark(): void {
    rmSync(this.#claimMark, { recursive: true, force: true });
  }

  has(name: RecordName): boolean {
    return existsSync(path.join(this.recordsDir, name));
  }

  /**
   * The record; `null` if the file does not exist. Throws `UnreadableRecord` for a record that cannot be trusted; other
   * errors can be temporary.
   */
  read<Name extends RecordName>(name: Name): Records[Name] | null {
    const file = path.join(this.recordsDir, name);
    const text = readText(file, name);
    return text === null ? null : (JSON.parse(this.#authentic(file, name, text)) as Records[Name]);
  }

  /** Reads a record as `read` does, but the attempt does not depend on this record. */
  readIfSound<Name extends RecordName>(name: Name): Records[Name] | null {
    try {
      return this.read(name);
    } catch (error) {
      if (error instanceof UnreadableRecord) return null;
      throw error;
    }
  }

  /** Replaces a record atomically. The new record survives the end of this process, but not a power cut. */
  write<Name extends RecordName>(name: Name, record: Records[Name]): void {
    const temporary = temporaryPath(this.recordsDir, name);
    try {
      withFile(openSync(temporary, NEW_FILE, 0o600), (file) => {
        writeFileSync(file, this.#seal(name, record));
        this.#inheritOwner(file);
      });
      renameSync(temporary, path.join(this.recordsDir, name));
    } catch (error) {
      // Records that are written again and again would fill a full file system with empty files.
      rmSync(temporary, { force: true });
      throw error;
    }
  }

  /** Replaces a record as `write` does. The record is on disk when the promise resolves. */
  async writeDurably<Name extends RecordName>(name: Name, record: Records[Name]): Promise<void> {
    const temporary = temporaryPath(this.recordsDir, name);
    const file = await open(temporary, NEW_FILE, 0o600);
    try {
      await file.writeFile(this.#seal(name, record));
      this.#inheritOwner(file.fd);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path.join(this.recordsDir, name));
    await syncDirectory(this.recordsDir);
  }

  /** Creates a complete record. Returns false if an authentic record already exists; that record is kept. */
  create<Name extends RecordName>(name: Name, record: Records[Name]): boolean {
    return this.#link(name, { text: this.#seal(name, record), sync: () => {} });
  }

  /** Creates a record as `create` does. The record is on disk when the function returns. */
  createDurably<Name extends RecordName>(name: Name, record: Records[Name]): boolean {
    return this.#link(name, { text: this.#seal(name, record), sync: fsyncSync });
  }

  /**
   * A hard link to a finished file is both exclusive and complete (link(2)). With O_EXCL alone, readers could see the
   * file while it is written.
   */
  #link(name: RecordName, { text, sync }: RecordText): boolean {
    const target = path.join(this.recordsDir, name);
    const temporary = temporaryPath(this.recordsDir, name);
    try {
      withFile(openSync(temporary, NEW_FILE, 0o600), (file) => {
        writeFileSync(file, text);
        this.#inheritOwner(file);
        sync(file);
      });
      while (!tryLink(temporary, target)) {
        if (this.readIfSound(name) !== null) return false;
        // Neither supervisor nor control plane wrote this file, so it must not prevent the record.
        rmSync(target, { recursive: true, force: true });
      }
    } finally {
      rmSync(temporary, { force: true });
    }
    withFile(openSync(this.recordsDir, "r"), sync);
    return true;
  }

  /** The job of another user reads the records that root writes for it. Only root creates names beside the directory. */
  #inheritOwner(file: number): void {
    inheritOwner(file, lstatSync(this.recordsDir));
  }

  #seal(name: RecordName, record: Records[RecordName]): string {
    const body = JSON.stringify(record);
    return `{"version":${FORMAT_VERSION},"mac":"${this.#macOf(name, body)}","record":${body}}`;
  }

  /** Returns the body of the record. Throws `UnreadableRecord` if the authentication code does not match. */
  #authentic(file: string, name: RecordName, text: string): string {
    const mac = text.slice(MAC_START, MAC_START + MAC_HEX_LENGTH);
    const body = text.slice(BODY_START, -1);
    if (isSame(mac, this.#macOf(name, body)) && text === this.#sealed(mac, body)) return body;
    throw new UnreadableRecord(`${file} ${complaint(text)}`);
  }

  #sealed(mac: string, body: string): string {
    return `{"version":${FORMAT_VERSION},"mac":"${mac}","record":${body}}`;
  }

  #macOf(name: RecordName, body: string): string {
    return createHmac("sha256", this.key.secret).update(`${this.key.name}\0${name}\0${body}`).digest("hex");
  }
}

/** Describes for people why a record is not authentic. */
function complaint(text: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return "is damaged: it is not JSON";
  }
  const version = typeof parsed === "object" && parsed !== null && "version" in parsed ? parsed.version : undefined;
  return version === FORMAT_VERSION
    ? "is not authentic: neither this control plane nor the attempt's supervisor wrote it"
    : `has format version ${JSON.stringify(version)?.slice(0, 20)}; this release reads ${FORMAT_VERSION}`;
}

function isSame(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** This process lacks a resource (open files, memory), so the content of the file is unknown. */
const TRANSIENT_CODES: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "EINTR"]);
const MIB = 1024 * 1024;
/**
 * A launch record holds up to 20,000 environments, one for each worker, as a resize does; ends hold the exits of as many workers. A larger
 * file was not written by Headroom.
 */
const RECORD_MAX_BYTES = 512 * MIB;
/**
 * Bounds of records that belong to the user of a job, who can write them and has their key: each look reads the launch, and the signs of
 * hundreds of parts.
 */
export const OWNED_LAUNCH_MAX_BYTES = 64 * MIB;
const OWNED_MAX_BYTES: Readonly<Partial<Record<RecordName, number>>> = {
  "launch.json": OWNED_LAUNCH_MAX_BYTES,
  "claim.json": MIB,
  "running.json": MIB,
  "alive.json": MIB,
  "stop.json": MIB,
  "failure.json": MIB,
  "fence.json": MIB,
};
const OWNED_OTHER_MAX_BYTES = 16 * MIB;

/** The largest record that is read. `uid`: of its owner. */
export const maxBytesOf = (name: RecordName, uid: number): number =>
  uid === 0 || uid === process.geteuid?.() ? RECORD_MAX_BYTES : (OWNED_MAX_BYTES[name] ?? OWNED_OTHER_MAX_BYTES);

function readText(file: string, name: RecordName): string | null {
  try {
    // The flags follow no link, and do not wait for the writer of a FIFO.
    const opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    return withFile(opened, (descriptor) => {
      const stat = fstatSync(descriptor);
      if (!stat.isFile()) throw new UnreadableRecord(`${file} is not a file`);
      const max = maxBytesOf(name, stat.uid);
      if (stat.size > max) throw new UnreadableRecord(`${file} has ${stat.size} bytes; at most ${max} are read`);
      return readFileSync(descriptor, "utf8");
    });
  } catch (error) {
    if (isMissing(error)) return null;
    if (error instanceof UnreadableRecord) throw error;
    if (error instanceof Error && "code" in error && TRANSIENT_CODES.has(error.code)) throw error;
    throw new UnreadableRecord(`${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface RecordText {
  readonly text: string;
  /** Syncs a file or directory; called once for the file and once for its directory. */
  readonly sync: (file: number) => void;
}

/** Links the file; false if the target already exists. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

export function withFile<Result>(file: number, use: (file: number) => Result): Result {
  try {
    return use(file);
  } finally {
    closeSync(file);
  }
}

/** Makes the names in a directory survive a power cut: syncing a file does not sync its name (fsync(2)). */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Notifies the control plane of a change in an attempt. The control plane watches the parent directory of all attempts.
 * There it sees a changed timestamp of an entry (inotify(7), IN_ATTRIB), but not every write inside an attempt. So one
 * watch is enough for any number of attempts.
 */
export function ringBell({ recordsDir }: AttemptFiles): void {
  const now = new Date();
  utimesSync(recordsDir, now, now);
}

/** True also if a file has taken the place of a directory. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

/** Creates a file that did not exist, and follows no link in its place (open(2), O_CREAT with O_EXCL). */
const NEW_FILE = "wx";

/** Nobody can know the name in advance, so no two writers share a file, and none finds something in its place. */
const temporaryPath = (directory: string, name: string): string => path.join(directory, `.${name}.${randomUUID()}`);

export const attemptsDirOf = (homeDir: string): string => path.join(homeDir, "attempts");
export const claimsDirOf = (homeDir: string): string => path.join(attemptsDirOf(homeDir), ".claims");
export const requestRootOf = (homeDir: string): string => path.join(homeDir, "requests");
export const checkpointRootOf = (homeDir: string): string => path.join(homeDir, "checkpoints");
export const workRootOf = (homeDir: string): string => path.join(homeDir, "work");
export const workerDirOf = (recordsDir: string, worker: number): string => path.join(recordsDir, `worker-${worker}`);
export const progressMark = (progressFile: string): string => `HEADROOM_PROGRESS_FILE=${progressFile}`;
/** Assignment that is in the environment of every process of one worker. */
export const workerMarkOf = (workerId: string): string => `HEADROOM_WORKER_ID=${workerId}`;
