/**
 * The durable usage file of one gateway. Records are written to the kernel before the client sees the end of its response, so a
 * killed gateway has a record of every response that was complete. One write serves all requests that end in one turn of the loop.
 */
import { closeSync, fdatasync, fdatasyncSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { RecordLines, type UsageRecord } from "./record.ts";
import { segmentName, segmentsOf } from "./segments.ts";

/** Hears that the kernel has its record. */
export interface UsageWriter {
  usageWritten(): void;
}

export interface UsageLogOptions {
  readonly directory: string;
  readonly segmentBytes: number;
  /** `always`: synced to the disk before a response ends; `interval`: once a second. */
  readonly sync: "always" | "interval";
}

const SYNC_INTERVAL_MS = 1000;

export class UsageLog {
  readonly #options: UsageLogOptions;
  #fd: number;
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
    mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    const { nextSeq, life } = whereItEnded(options.directory);
    this.#nextSeq = nextSeq;
    this.life = life;
    this.#fd = this.#open();
    this.#timer = setInterval(() => this.#sync(), SYNC_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Takes the record; the writer hears in this turn of the event loop that the kernel has it. */
  append(record: Omit<UsageRecord, "seq">, writer: UsageWriter | undefined): void {
    this.#lines.add(record, this.#nextSeq);
    this.#nextSeq++;
    if (writer !== undefined) this.#waiting.push(writer);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  flush(): void {
    this.#isScheduled = false;
    if (this.#lines.isEmpty || this.#isClosed) return;
    const bytes = this.#lines.take();
    let at = 0;
    while (at < bytes.length) at += writeSync(this.#fd, bytes, at);
    if (this.#options.sync === "always") fdatasyncSync(this.#fd);
    else this.#isDirty = true;
    this.#bytes += bytes.length;
    if (this.#bytes >= this.#options.segmentBytes) this.#rotate();
    const waiting = this.#waiting;
    // Two lists take turns: a writer may append again.
    this.#waiting = this.#written;
    this.#written = waiting;
    for (const writer of waiting) writer.usageWritten();
    waiting.length = 0;
  }

  close(): void {
    if (this.#isClosed) return;
    this.flush();
    clearInterval(this.#timer);
    fdatasyncSync(this.#fd);
    closeSync(this.#fd);
    this.#isClosed = true;
  }

  #open(): number {
    return openSync(path.join(this.#options.directory, segmentName(this.#nextSeq, this.life)), "a", 0o600);
  }

  #rotate(): void {
    let next: number;
    try {
      next = this.#open();
    } catch {
      // No file descriptor or inode is free: the segment goes on, and the next write tries again.
      return;
    }
    fdatasyncSync(this.#fd);
    closeSync(this.#fd);
    this.#bytes = 0;
    this.#fd = next;
  }

  #sync(): void {
    if (!this.#isDirty || this.#isSyncing) return;
    this.#isDirty = false;
    this.#isSyncing = true;
    fdatasync(this.#fd, () => {
      this.#isSyncing = false;
    });
  }
}

/** Each life writes its own segments, so that a line torn by a kill is never followed by another. */
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

/** Counted block by block: a segment as one text would be the largest thing that the gateway ever holds. */
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
