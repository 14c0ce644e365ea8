/**
 * The durable usage file of one gateway. Records are written to the kernel before the client sees the end of its response, so a
 * killed gateway has a record of every response that was complete. One write serves all requests that end in one turn of the loop.
 */
import { closeSync, fdatasync, fdatasyncSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import path from "node:path";
import { recordLine, type UsageRecord } from "./record.ts";
import { segmentName, segmentsOf } from "./segments.ts";

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
  #pending = "";
  #waiting: (() => void)[] = [];
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

  /** Takes the record; `written` runs in this turn of the event loop, when the kernel has it. */
  append(record: Omit<UsageRecord, "seq">, written: () => void): void {
    this.#pending += recordLine({ ...record, seq: this.#nextSeq });
    this.#nextSeq++;
    this.#waiting.push(written);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  flush(): void {
    this.#isScheduled = false;
    if (this.#pending === "" || this.#isClosed) return;
    const bytes = Buffer.from(this.#pending);
    this.#pending = "";
    let at = 0;
    while (at < bytes.length) at += writeSync(this.#fd, bytes, at);
    if (this.#options.sync === "always") fdatasyncSync(this.#fd);
    else this.#isDirty = true;
    this.#bytes += bytes.length;
    if (this.#bytes >= this.#options.segmentBytes) this.#rotate();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const written of waiting) written();
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
    fdatasyncSync(this.#fd);
    closeSync(this.#fd);
    this.#bytes = 0;
    this.#fd = this.#open();
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
    const lines = readFileSync(path.join(directory, name), "utf8").split("\n");
    // Bytes after the last line feed are a torn line.
    nextSeq = Math.max(nextSeq, firstSeq + lines.length - 1);
  }
  return { nextSeq, life };
}
