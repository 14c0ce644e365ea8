/**
 * The file of a group's ledger: its changes in order, one in each line. A write reaches the kernel at once and so
 * survives the end of the process, which is when another gateway takes over. The file is not synced: it is not used
 * after a restart of the machine, because the amounts of the minute before are over by then.
 */
import { closeSync, readFileSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { lockDirectory, makeDirectory, type DirectoryLock } from "@headroom/platform";
import { changeIn, DefinitionTable, type LedgerChange } from "./ledger-change.ts";
import { LedgerDraft } from "./ledger-draft.ts";

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
/** Number of lines that are read or written before other work gets its turn: a few milliseconds. */
export const LINES_AT_A_TIME = 1000;
const noBytes = Buffer.alloc(0);

export class LedgerFile {
  readonly #path: string;
  readonly #lock: DirectoryLock;
  readonly #log: (line: string) => void;
  #definitions = new DefinitionTable();
  /** The ledger in the file. Undefined if there is none, or none that can be continued. */
  readonly restored: RestoredLedger | undefined;
  #fd: number | undefined;
  #pending = "";
  /** Bytes of the last write that the disk refused. */
  #refused: Buffer = noBytes;
  #bytes = 0;
  #largeBytes = LARGE_BYTES_MIN;
  #isFailing = false;

  private constructor(file: string, lock: DirectoryLock, log: (line: string) => void, restored?: RestoredLedger) {
    this.#path = file;
    this.#lock = lock;
    this.#log = log;
    this.restored = restored;
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
      if (outcome.kind === "locked") {
        const file = path.join(directory, "ledger.jsonl");
        return new LedgerFile(file, outcome.lock, log, await restoredFrom(file));
      }
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

  /** Begins a new file for the whole ledger. Undefined, with a message for the operator, if that is not possible. */
  draft(id: string): LedgerDraft | undefined {
    // If it fails, it is not tried again with the next change.
    this.#largeBytes = Math.max(LARGE_BYTES_MIN, 2 * (this.#bytes + this.#pending.length));
    try {
      return new LedgerDraft(this.#path, `${JSON.stringify(["ledger", VERSION, id, bootId()])}\n`);
    } catch (error) {
      this.#notRewritten(error);
      return undefined;
    }
  }

  /** Writes a part of a new file. Returns false, and leaves the file as it is, if that is not possible. */
  write(draft: LedgerDraft): boolean {
    try {
      draft.write();
      return true;
    } catch (error) {
      this.#notRewritten(error);
      draft.drop();
      return false;
    }
  }

  /** Replaces the file by the new one, which has all changes, those too that are not written yet. */
  adopt(draft: LedgerDraft): boolean {
    try {
      draft.replaceOld();
    } catch (error) {
      this.#notRewritten(error);
      draft.drop();
      return false;
    }
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = draft.fd;
    this.#definitions = draft.definitions;
    this.#pending = "";
    this.#refused = noBytes;
    this.#isFailing = false;
    this.#bytes = draft.bytes;
    this.#largeBytes = Math.max(LARGE_BYTES_MIN, 2 * draft.bytes);
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

  #notRewritten(error: unknown): void {
    this.#log(`the ledger of limits cannot be written: ${this.#path}: ${textOf(error)}`);
  }

  #fail(error: unknown): void {
    if (!this.#isFailing)
      this.#log(
        `the ledger of limits cannot be written, limited requests are refused until it can: ${this.#path}: ${textOf(error)}`,
      );
    this.#isFailing = true;
  }
}

/** Writes the bytes and returns how many the disk took. */
function writeAll(fd: number, bytes: Buffer, onError: (error: unknown) => void): number {
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(fd, bytes, written);
  } catch (error) {
    onError(error);
  }
  return written;
}

/** Undefined if there is no file, or if it is of another version, of another boot of the machine, or damaged. */
async function restoredFrom(file: string): Promise<RestoredLedger | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch {
    return undefined;
  }
  const definitions = new DefinitionTable();
  const changes: LedgerChange[] = [];
  let head: unknown[] | undefined;
  try {
    let count = 0;
    // After the last line feed there is nothing, or a line that a kill cut off; nobody has the answer to its change.
    for (let at = 0, end = bytes.indexOf(10); end >= 0; at = end + 1, end = bytes.indexOf(10, at)) {
      const line = bytes.toString("utf8", at, end);
      if (head === undefined) head = JSON.parse(line) as unknown[];
      else {
        const change = changeIn(line, definitions);
        if (change !== undefined) changes.push(change);
      }
      count++;
      if (count % LINES_AT_A_TIME === 0) await setImmediate();
    }
  } catch {
    return undefined;
  }
  const [kind, version, id, boot] = head ?? [];
  if (kind !== "ledger" || version !== VERSION || typeof id !== "string" || boot !== bootId()) return undefined;
  return { id, changes };
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
