/**
 * The durable usage file of one gateway. Records are written to the kernel before the client sees the end of its response, so a
 * killed gateway has a record of every response that was complete. One write serves all requests that end in one turn of the loop.
 */
import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { makeDirectory } from "@headroom/platform";
import { RecordLines, type UsageRecord } from "./record.ts";
import { segmentName, segmentsOf } from "./segments.ts";

/** Receiver of the notice that the kernel has a usage record. */
export interface UsageWriter {
  usageWritten(): void;
}

export interface UsageLogOptions {
  readonly directory: string;
  readonly segmentBytes: number;
  /** `always`: synced to the disk before a response ends; `interval`: once a second. */
  readonly sync: "always" | "interval";
  /** Called with messages for the operator. */
  readonly log?: (line: string) => void;
}

const SYNC_INTERVAL_MS = 1000;
/** Between tries of a write that the disk refused. */
const RETRY_MS = 250;

export class UsageLog {
  readonly #options: UsageLogOptions;
  #fd: number;
  /** Bytes of the last write that the disk refused, because it is full for example. */
  #refused: Buffer | undefined;
  #bytes = 0;
  #nextSeq: number;
  readonly #lines = new RecordLines();
  #waiting: UsageWriter[] = [];
  #written: UsageWriter[] = [];
  readonly #flush = (): void => this.flush();
  #isScheduled = false;
  #isDirty = false;
  #isSyncing = false;
  readonly #timer: NodeJS.Timeout;
  readonly life: number;
  #isClosed = false;

  constructor(options: UsageLogOptions) {
    this.#options = options;
    makeDirectory(options.directory, 0o700);
    const { nextSeq, life } = whereItEnded(options.directory);
    this.#nextSeq = nextSeq;
    this.life = life;
    this.#fd = this.#open();
    this.#timer = setInterval(() => this.#sync(), SYNC_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Accepts the record; the writer is notified in this turn of the event loop that the kernel has it. */
  append(record: Omit<UsageRecord, "seq">, writer: UsageWriter | undefined): void {
    if (this.isFailing && record.outcome === "open") return;
    this.#lines.add(record, this.#nextSeq);
    this.#nextSeq++;
    if (writer !== undefined) this.#waiting.push(writer);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  flush(): void {
    this.#isScheduled = false;
    if (this.#isClosed || (this.#lines.isEmpty && this.#refused === undefined)) return;
    const lines = this.#lines.take();
    if (!this.#write(this.#refused === undefined ? lines : Buffer.concat([this.#refused, lines]))) {
      this.#isScheduled = true;
      setTimeout(this.#flush, RETRY_MS);
      return;
    }
    if (this.#bytes >= this.#options.segmentBytes) this.#rotate();
    const waiting = this.#waiting;
    // Two lists alternate, because a writer may append again while it is notified.
    this.#waiting = this.#written;
    this.#written = waiting;
    for (const writer of waiting) writer.usageWritten();
    waiting.length = 0;
  }

  /** True while the disk takes no records: requests that have ended wait, and no further ones should begin. */
  get isFailing(): boolean {
    return this.#refused !== undefined;
  }

  close(): void {
    if (this.#isClosed) return;
    this.flush();
    clearInterval(this.#timer);
    this.#isClosed = true;
    this.#closeFile();
  }

  /** False: the disk took a part at most, the rest is kept. A line that was torn is continued by the next try. */
  #write(bytes: Buffer): boolean {
    let at = 0;
    try {
      while (at < bytes.length) at += writeSync(this.#fd, bytes, at);
      if (this.#options.sync === "always") fdatasyncSync(this.#fd);
      else this.#isDirty = true;
    } catch (error) {
      if (this.#refused === undefined)
        this.#report("usage cannot be written, requests are refused until it can", error);
      this.#bytes += at;
      this.#refused = Buffer.from(bytes.subarray(at));
      return false;
    }
    this.#bytes += at;
    if (this.#refused !== undefined) this.#options.log?.("usage is written again");
    this.#refused = undefined;
    return true;
  }

  #report(what: string, error: unknown): void {
    const detail = error instanceof Error ? error.message : String(error);
    this.#options.log?.(`${what}: ${this.#options.directory}: ${detail}`);
  }

  #closeFile(): void {
    try {
      fdatasyncSync(this.#fd);
    } catch (error) {
      this.#report("usage may not have reached the disk", error);
    }
    closeSync(this.#fd);
  }

  #open(): number {
    makeDirectory(this.#options.directory, 0o700);
    return openSync(path.join(this.#options.directory, segmentName(this.#nextSeq, this.life)), "a", 0o600);
  }

  /** Without room for another segment this one goes on. */
  #rotate(): void {
    let next: number;
    try {
      next = this.#open();
    } catch {
      // No file descriptor or inode is free: the present segment is continued, and the next write tries again.
      return;
    }
    this.#closeFile();
    this.#bytes = 0;
    this.#fd = next;
  }

  /** Writes into a file that was deleted succeed and are lost: the next records go to a new one. */
  #leaveDeletedFile(): void {
    if (!this.#lines.isEmpty || this.isFailing || fstatSync(this.#fd).nlink > 0) return;
    this.#options.log?.(
      `the usage file was deleted while it was written, its last second may be lost: ${this.#options.directory}`,
    );
    this.#rotate();
  }

  #sync(): void {
    this.#leaveDeletedFile();
    if (!this.#isDirty || this.#isSyncing) return;
    this.#isDirty = false;
    this.#isSyncing = true;
    fdatasync(this.#fd, () => {
      this.#isSyncing = false;
    });
  }
}

/** Each process writes segments of its own, so that a line torn by a kill is never followed by another. */
function whereItEnded(directory: string): { readonly nextSeq: number; readonly life: number } {
  const segments = segmentsOf(directory);
  const life = segments.reduce((newest, each) => Math.max(newest, each.life), 0) + 1;
  let nextSeq = 1;
  for (const { name, firstSeq } of segments.slice(-2)) {
    // Bytes after the last line feed are a torn line.
    nextSeq = Math.max(nextSeq, firstSeq + lineFeedsIn(path.join(directory, name)));
  }
  return { nextSeq, life };
}

/** Counts block by block: a whole segment as one text would be the largest object that the gateway ever holds. */
function lineFeedsIn(file: string): number {
  const block = Buffer.allocUnsafe(COUNTED_BYTES);
  const fd = openSync(file, "r");
  try {
    let feeds = 0;
    for (let count = readSync(fd, block); count > 0; count = readSync(fd, block)) {
      for (let at = block.indexOf(10); at >= 0 && at < count; at = block.indexOf(10, at + 1)) feeds++;
    }
    return feeds;
  } finally {
    closeSync(fd);
  }
}

const COUNTED_BYTES = 262_144;
