/**
 * The durable usage file of one gateway. The kernel gets a record before the client sees the end of its response, so
 * even a killed gateway has a record of every complete response. One write serves all requests that end in one turn of
 * the event loop.
 */
import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { makeDirectory } from "@headroom/platform";
import { RecordLines, type UsageRecord } from "./record.ts";
import { segmentName, segmentsOf } from "./segments.ts";

/** A request that is notified when the kernel has its usage record. */
export interface UsageWriter {
  usageWritten(): void;
}

export interface UsageLogOptions {
  readonly directory: string;
  readonly segmentBytes: number;
  /** `always` syncs to the disk before a response ends; `interval` syncs once a second. */
  readonly sync: "always" | "interval";
  /** Called with messages for the operator. */
  readonly log?: (line: string) => void;
}

const SYNC_INTERVAL_MS = 1000;
/** Time in ms between attempts to repeat a write that the disk refused. */
const RETRY_MS = 250;

export class UsageLog {
  readonly #options: UsageLogOptions;
  #fd: number;
  /** Bytes of the last write that the disk refused, for example because it is full. */
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

  /** Accepts a record. The writer is notified when the kernel has it, within this turn of the event loop. */
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

  /** True while the disk accepts no records. Requests that have ended then wait, and no new ones should begin. */
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

  /**
   * Writes bytes. Returns false if the disk accepted only a part or nothing; the rest is kept, and the next attempt
   * continues a line that was cut off.
   */
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

  /** Starts a new segment. If there is no space for one, the present segment continues. */
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

  /** Writes to a deleted file succeed and are lost, so the next records go to a new file. */
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

/** Each process writes its own segments, so that nothing follows a line that a kill cut off. */
function whereItEnded(directory: string): { readonly nextSeq: number; readonly life: number } {
  const segments = segmentsOf(directory);
  const life = segments.reduce((newest, each) => Math.max(newest, each.life), 0) + 1;
  let nextSeq = 1;
  for (const { name, firstSeq } of segments.slice(-2)) {
    // Bytes after the last line feed are a line that was cut off.
    nextSeq = Math.max(nextSeq, firstSeq + lineFeedsIn(path.join(directory, name)));
  }
  return { nextSeq, life };
}

/** Counts in blocks: a whole segment as one text would be the largest object in the gateway. */
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
