/**
 * The file of a group's ledger: its changes in order, one in each line. A write reaches the kernel at once and so
 * survives the end of the process, which is when another gateway takes over. The file is not synced: it is not used
 * after a restart of the machine, because the amounts of the minute before are over by then.
 */
import { closeSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import path from "node:path";
import { lockDirectory, makeDirectory, type DirectoryLock } from "@headroom/platform";
import { changeIn, DefinitionTable, type LedgerChange } from "./ledger-change.ts";

export interface RestoredLedger {
  readonly id: string;
  readonly changes: readonly LedgerChange[];
}

const VERSION = 1;
/** The file is written again, without what is over, when it is twice as large as then and larger than this. */
const LARGE_BYTES_MIN = 4 * 1024 * 1024;
/** Time in ms within which the kernel has released the lock of a process that has ended. */
const LOCK_MS = 2000;
const LOCK_RETRY_MS = 5;
const noBytes = Buffer.alloc(0);

export class LedgerFile {
  readonly #path: string;
  readonly #lock: DirectoryLock;
  readonly #log: (line: string) => void;
  readonly #definitions = new DefinitionTable();
  /** The ledger in the file. Undefined if there is none, or none that can be continued. */
  readonly restored: RestoredLedger | undefined;
  #fd: number | undefined;
  #pending = "";
  /** Bytes of the last write that the disk refused. */
  #refused: Buffer = noBytes;
  #bytes = 0;
  #largeBytes = LARGE_BYTES_MIN;
  #isFailing = false;

  private constructor(directory: string, lock: DirectoryLock, log: (line: string) => void) {
    this.#path = path.join(directory, "ledger.jsonl");
    this.#lock = lock;
    this.#log = log;
    this.restored = restoredFrom(this.#path);
  }

  /** Undefined, with a message for the operator, if the folder cannot be used. Changes are then not recorded. */
  static async open(directory: string, log: (line: string) => void): Promise<LedgerFile | undefined> {
    let detail: string;
    try {
      makeDirectory(directory, 0o700);
      const untilMs = performance.now() + LOCK_MS;
      let outcome = lockDirectory(directory, Date.now());
      while (outcome.kind === "held" && performance.now() < untilMs) {
        await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
        outcome = lockDirectory(directory, Date.now());
      }
      if (outcome.kind === "locked") return new LedgerFile(directory, outcome.lock, log);
      detail = `it is in use by ${outcome.holder}`;
    } catch (error) {
      detail = textOf(error);
    }
    log(
      `the ledger of limits is not recorded in ${directory} (${detail}): the next gateway that holds the limits will refuse limited requests for a minute`,
    );
    return undefined;
  }

  /** Whether the file has grown so much that it should be written again. */
  get isLarge(): boolean {
    return this.#bytes + this.#pending.length > this.#largeBytes;
  }

  /**
   * Replaces the file by one with the whole ledger. Returns false, and leaves the file as it is, if that is not
   * possible.
   */
  begin(id: string, changes: readonly LedgerChange[]): boolean {
    this.#definitions.clear();
    const lines = [`${JSON.stringify(["ledger", VERSION, id, bootId()])}\n`];
    for (const change of changes) lines.push(this.#definitions.linesOf(change));
    const bytes = Buffer.from(lines.join(""));
    // The old file is continued if this fails, and its definitions then follow again.
    this.#definitions.clear();
    this.#largeBytes = Math.max(LARGE_BYTES_MIN, 2 * Math.max(this.#bytes, bytes.length));
    let fd: number | undefined;
    try {
      fd = openSync(`${this.#path}.new`, "w", 0o600);
      writeAll(fd, bytes);
      renameSync(`${this.#path}.new`, this.#path);
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      this.#log(`the ledger of limits cannot be written: ${this.#path}: ${textOf(error)}`);
      return false;
    }
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = fd;
    this.#pending = "";
    this.#refused = noBytes;
    this.#isFailing = false;
    this.#bytes = bytes.length;
    this.#largeBytes = Math.max(LARGE_BYTES_MIN, 2 * bytes.length);
    return true;
  }

  append(change: LedgerChange): void {
    this.#pending += this.#definitions.linesOf(change);
  }

  /** Whether changes can be recorded. Tries again if the last write failed. */
  isWritable(): boolean {
    return !this.#isFailing || this.flush();
  }

  /** Writes the pending changes. Returns false, and keeps them, if that is not possible. */
  flush(): boolean {
    if (this.#fd === undefined) return false;
    const bytes = Buffer.concat([this.#refused, Buffer.from(this.#pending)]);
    this.#pending = "";
    const written = writeAll(this.#fd, bytes, (error) => this.#fail(error));
    this.#bytes += written;
    this.#refused = written === bytes.length ? noBytes : bytes.subarray(written);
    if (this.#refused.length > 0) return false;
    if (this.#isFailing) this.#log("the ledger of limits is written again");
    this.#isFailing = false;
    return true;
  }

  close(): void {
    this.flush();
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#lock.release();
  }

  #fail(error: unknown): void {
    if (!this.#isFailing)
      this.#log(
        `the ledger of limits cannot be written, limited requests are refused until it can: ${this.#path}: ${textOf(error)}`,
      );
    this.#isFailing = true;
  }
}

/** Writes the bytes and returns how many the disk took. Without `onError` an error is thrown. */
function writeAll(fd: number, bytes: Buffer, onError?: (error: unknown) => void): number {
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(fd, bytes, written);
  } catch (error) {
    if (onError === undefined) throw error;
    onError(error);
  }
  return written;
}

/** Undefined if there is no file, or if it is of another version, of another boot of the machine, or damaged. */
function restoredFrom(file: string): RestoredLedger | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
  const lines = text.split("\n");
  // After the last line feed there is nothing, or a line that a kill cut off; nobody has the answer to its change.
  lines.pop();
  try {
    const [kind, version, id, boot] = JSON.parse(lines[0] ?? "") as unknown[];
    if (kind !== "ledger" || version !== VERSION || typeof id !== "string" || boot !== bootId()) return undefined;
    const definitions = new DefinitionTable();
    return { id, changes: lines.slice(1).flatMap((line) => changeIn(line, definitions) ?? []) };
  } catch {
    return undefined;
  }
}

/** Changes with each start of the machine. "" where the system has no such id. */
function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
