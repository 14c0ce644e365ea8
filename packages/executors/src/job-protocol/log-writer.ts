/**
 * Writes one stream of one worker. A file is closed at its size limit, and the oldest files are removed. A full disk
 * costs log lines but never disturbs the work: lost output is counted, and the count is written as soon as possible.
 */
import { closeSync, constants, openSync, rmSync, statSync, unlinkSync, writeSync } from "node:fs";
import path from "node:path";
import type { LogStream } from "../executor.ts";
import type { LogLimits } from "./attempt-records.ts";
import { listLogFiles, logFileName, logTimesName } from "./log-files.ts";

/**
 * Time in ms after an output within which later output gets the same time. This limits the size of the file of times.
 */
const TIME_STEP_MS = 5;
/** Appends to a file or creates it, and follows no link in its place. */
const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

export class LogWriter {
  readonly #workerDir: string;
  readonly #stream: LogStream;
  readonly #limits: LogLimits;
  readonly #kept: number[] = [];
  #file: number | null = null;
  #times: number | null = null;
  #timedAtMs = 0;
  #startByte = 0;
  #nextByte = 0;
  #lostBytes = 0;

  constructor(workerDir: string, stream: LogStream, limits: LogLimits) {
    this.#workerDir = workerDir;
    this.#stream = stream;
    this.#limits = limits;
    // If a rank is used again, the stream of its previous worker continues.
    const before = listLogFiles(workerDir, stream);
    const last = before.at(-1);
    if (last === undefined) return;
    this.#kept.push(...before.slice(0, -1).map(({ startByte }) => startByte));
    this.#startByte = last.startByte;
    this.#nextByte = last.startByte + (statSync(path.join(workerDir, last.name), { throwIfNoEntry: false })?.size ?? 0);
  }

  /** Offset of the next byte in the stream. */
  get nextByte(): number {
    return this.#nextByte;
  }

  /** `atMs`: when the output was written, if another system has recorded that. */
  write(chunk: Uint8Array, atMs = Date.now()): void {
    try {
      if (this.#lostBytes > 0) {
        this.#append(Buffer.from(`\n[${this.#lostBytes} bytes of output could not be written here]\n`), atMs);
        this.#lostBytes = 0;
      }
      this.#append(chunk, atMs);
    } catch {
      this.#lostBytes += chunk.length;
    }
  }

  close(): void {
    for (const file of [this.#file, this.#times]) if (file !== null) closeSync(file);
    this.#file = null;
    this.#times = null;
  }

  #append(chunk: Uint8Array, atMs: number): void {
    this.#file ??= this.#open();
    // The time is written before the bytes, so that a reader of the bytes finds their time.
    this.#noteTime(atMs);
    for (let offset = 0; offset < chunk.length;) {
      const written = writeSync(this.#file, chunk, offset);
      offset += written;
      this.#nextByte += written;
    }
    if (this.#nextByte - this.#startByte >= this.#limits.fileMaxBytes) this.#rotate();
  }

  /**
   * The name contains the offset of the first byte. The new file is opened before the old one is closed, so that a
   * reader at the end of the old one finds the new one.
   */
  #rotate(): void {
    const previous = this.#file;
    this.#startByte = this.#nextByte;
    this.#file = this.#open();
    if (previous !== null) closeSync(previous);
    if (this.#times !== null) closeSync(this.#times);
    this.#times = null;
    while (this.#kept.length > this.#limits.filesKept) {
      const oldest = this.#kept.shift();
      if (oldest === undefined) continue;
      unlinkSync(path.join(this.#workerDir, logFileName(this.#stream, oldest)));
      rmSync(path.join(this.#workerDir, logTimesName(this.#stream, oldest)), { force: true });
    }
  }

  /** Times are optional: output whose time cannot be written has none. */
  #noteTime(nowMs: number): void {
    if (this.#times !== null && nowMs - this.#timedAtMs < TIME_STEP_MS && nowMs >= this.#timedAtMs) return;
    try {
      this.#times ??= openSync(path.join(this.#workerDir, logTimesName(this.#stream, this.#startByte)), APPEND, 0o600);
      writeSync(this.#times, `${this.#nextByte} ${nowMs}\n`);
      this.#timedAtMs = nowMs;
    } catch {
      // The failure is ignored, as stated above.
    }
  }

  #open(): number {
    const name = logFileName(this.#stream, this.#startByte);
    const file = openSync(path.join(this.#workerDir, name), APPEND, 0o600);
    this.#kept.push(this.#startByte);
    return file;
  }
}
