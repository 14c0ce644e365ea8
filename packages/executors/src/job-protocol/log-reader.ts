/**
 * Reads and follows the logs of an attempt, one block of one stream at a time. Streams are merged by the times of the
 * lines.
 */
import type { FSWatcher } from "node:fs";
import { watch } from "node:fs";
import type { LogChunk, LogRequest, LogStart, LogStream } from "../executor.ts";
import { isMissing } from "./attempt-files.ts";
import type { LogFile } from "./log-files.ts";
import { listLogFiles, openLog } from "./log-files.ts";
import { LogTimes } from "./log-times.ts";

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 10;
/**
 * Polling interval in ms if there are no file watches; also the time for which an unfinished line waits for its end
 * before it is shown.
 */
const FOLLOW_POLL_MS = 500;

export interface LogSource {
  /** Directory of the logs of a worker. */
  readonly workerDir: (worker: number) => string;
  readonly workerCount: number;
  /** Becomes true when no more output will be appended. */
  readonly hasEnded: () => boolean;
}

export async function* readLogs(source: LogSource, request: LogRequest, signal: AbortSignal): AsyncGenerator<LogChunk> {
  const workers =
    request.worker === null ? Array.from({ length: source.workerCount }, (_, worker) => worker) : [request.worker];
  const streams: readonly LogStream[] = request.stream === null ? ["stdout", "stderr"] : [request.stream];
  const cursors: StreamCursor[] = [];
  for (const worker of workers) {
    for (const stream of streams) {
      const cursor = new StreamCursor(source.workerDir(worker), worker, stream);
      await cursor.seek(request.start, request.sinceMs);
      cursors.push(cursor);
    }
  }
  const changes = request.follow
    ? new Changes(
        workers.map((worker) => source.workerDir(worker)),
        signal,
      )
    : null;
  try {
    for (let quietPasses = 0; !signal.aborted;) {
      // The end is checked before the pass, so that the pass reads all output that was written before the end.
      const last = !request.follow || source.hasEnded();
      let foundAny = false;
      for await (const chunk of oldestFirst(cursors, last || quietPasses > 0)) {
        if (signal.aborted) return;
        foundAny = true;
        if (request.sinceMs === undefined || chunk.atMs === null || chunk.atMs >= request.sinceMs) yield chunk;
      }
      quietPasses = foundAny ? 0 : quietPasses + 1;
      if (foundAny) continue;
      if (last || changes === null) return;
      await changes.wait();
    }
  } finally {
    changes?.close();
  }
}

/**
 * All output that the streams contain now, merged by time. A stream that was read to its end is skipped for the rest of
 * this pass.
 */
async function* oldestFirst(cursors: readonly StreamCursor[], includeUnfinished: boolean): AsyncGenerator<LogChunk> {
  const heads: { readonly cursor: StreamCursor; chunk: LogChunk }[] = [];
  for (const cursor of cursors) {
    const chunk = await cursor.next(includeUnfinished);
    if (chunk !== null) heads.push({ cursor, chunk });
  }
  while (heads.length > 0) {
    let at = 0;
    for (let other = 1; other < heads.length; other++)
      if (timeOf(heads[other]!.chunk) < timeOf(heads[at]!.chunk)) at = other;
    const head = heads[at]!;
    yield head.chunk;
    const next = await head.cursor.next(includeUnfinished);
    if (next === null) heads.splice(at, 1);
    else head.chunk = next;
  }
}

/** Output of unknown time keeps its position in its stream and comes before the output of other streams. */
const timeOf = ({ atMs }: LogChunk): number => atMs ?? 0;

class StreamCursor {
  readonly #workerDir: string;
  readonly #worker: number;
  readonly #stream: LogStream;
  readonly #times: LogTimes;
  #block: Buffer | null = null;
  /** Chunks that were read and not yet returned. */
  readonly #ready: LogChunk[] = [];
  #offset = 0;

  constructor(workerDir: string, worker: number, stream: LogStream) {
    this.#workerDir = workerDir;
    this.#times = new LogTimes(workerDir, stream);
    this.#worker = worker;
    this.#stream = stream;
  }

  /** `sinceMs`: files that were complete before this instant are skipped. */
  async seek(start: LogStart, sinceMs: number | undefined): Promise<void> {
    if (start.kind === "byte") this.#offset = start.offset;
    if (start.kind === "tail") this.#offset = await this.#startOfTail(start.lines);
    if (sinceMs !== undefined) this.#offset = Math.max(this.#offset, await this.#startOfFileAt(sinceMs));
  }

  async #startOfFileAt(atMs: number): Promise<number> {
    const files = listLogFiles(this.#workerDir, this.#stream);
    const times = new LogTimes(this.#workerDir, this.#stream);
    for (const { startByte } of files.toReversed()) {
      const firstAtMs = await times.firstOf(startByte);
      if (firstAtMs !== null && firstAtMs <= atMs) return startByte;
    }
    return 0;
  }

  /** The next chunk; `null`: nothing new. An unfinished line counts as new only if requested. */
  async next(includeUnfinished: boolean): Promise<LogChunk | null> {
    if (this.#ready.length === 0) await this.#readBlock(includeUnfinished);
    return this.#ready.shift() ?? null;
  }

  async #readBlock(includeUnfinished: boolean): Promise<void> {
    const file = this.#currentFile(listLogFiles(this.#workerDir, this.#stream));
    if (file === null) return;
    const block = (this.#block ??= Buffer.alloc(BLOCK_BYTES));
    const length = await this.#read(file, this.#offset - file.startByte);
    const cut = cutAt(block.subarray(0, length), includeUnfinished);
    // Frees the buffer of a worker that writes no more, because there can be thousands of streams.
    if (length === 0) this.#block = null;
    if (cut === 0) return;
    const fromByte = this.#offset;
    this.#offset += cut;
    const bytes = block.subarray(0, cut);
    for (const { from, to, atMs } of await this.#times.split(file.startByte, fromByte, bytes)) {
      const text = bytes.toString("utf8", from, to);
      const place = { fromByte: fromByte + from, toByte: fromByte + to };
      this.#ready.push({ worker: this.#worker, stream: this.#stream, ...place, atMs, text });
    }
  }

  /** The newest file that begins at or before the offset. Removed files are skipped. */
  #currentFile(files: readonly LogFile[]): LogFile | null {
    const oldest = files[0];
    if (oldest === undefined) return null;
    if (this.#offset < oldest.startByte) this.#offset = oldest.startByte;
    return files.findLast(({ startByte }) => startByte <= this.#offset) ?? oldest;
  }

  /**
   * Number of bytes read into the block. It is also 0 if rotation has just removed the file; the next call notices
   * this.
   */
  async #read({ name }: LogFile, position: number): Promise<number> {
    try {
      const handle = await openLog(this.#workerDir, name);
      try {
        const block = (this.#block ??= Buffer.alloc(BLOCK_BYTES));
        const { bytesRead } = await handle.read(block, 0, BLOCK_BYTES, position);
        return bytesRead;
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (isMissing(error)) return 0;
      throw error;
    }
  }

  /**
   * Byte offset at which the last lines begin. It is found by counting newlines backwards. A newline at the end belongs
   * to the last line.
   */
  async #startOfTail(lines: number): Promise<number> {
    const files = listLogFiles(this.#workerDir, this.#stream);
    let remaining = lines;
    let atEnd = true;
    for (const file of files.toReversed()) {
      const size = await this.#sizeOf(file);
      for (let end = size; end > 0;) {
        const start = Math.max(0, end - BLOCK_BYTES);
        const length = Math.min(await this.#read(file, start), end - start);
        for (let position = length - 1; position >= 0; position--) {
          if (this.#block?.[position] === NEWLINE && !atEnd && --remaining <= 0)
            return file.startByte + start + position + 1;
          atEnd = false;
        }
        end = start;
      }
    }
    return files[0]?.startByte ?? 0;
  }

  async #sizeOf({ name }: LogFile): Promise<number> {
    try {
      const handle = await openLog(this.#workerDir, name);
      try {
        return (await handle.stat()).size;
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (isMissing(error)) return 0;
      throw error;
    }
  }
}

/** Number of bytes to return: up to the last line end. For a full block or the last one: all whole characters. */
function cutAt(block: Buffer, includeUnfinished: boolean): number {
  if (includeUnfinished && block.length < BLOCK_BYTES) return block.length;
  const lineEnd = block.lastIndexOf(NEWLINE) + 1;
  if (lineEnd > 0 || block.length < BLOCK_BYTES) return lineEnd;
  return wholeCharacters(block);
}

/** UTF-8 characters have at most four bytes, and every byte except the first has the form 10xxxxxx. */
function wholeCharacters(block: Buffer): number {
  for (let back = 1; back <= 4 && back <= block.length; back++) {
    const byte = block[block.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const size = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return size > back ? block.length - back : block.length;
  }
  return block.length;
}

/** Wakes a follower when a file in the workers' directories has changed, or after a poll interval at the latest. */
class Changes {
  readonly #watchers: FSWatcher[] = [];
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.#wake();
  #changed = false;
  #resolve: (() => void) | null = null;

  constructor(directories: readonly string[], signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    for (const directory of directories) {
      try {
        const watcher = watch(directory, { persistent: false }, () => this.#wake());
        watcher.on("error", () => watcher.close());
        this.#watchers.push(watcher);
      } catch {
        // There are no file watches left, or the directory does not exist yet, so only polling remains.
      }
    }
  }

  async wait(): Promise<void> {
    if (!this.#changed && !this.#signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const timer = setTimeout(resolve, FOLLOW_POLL_MS);
      await promise;
      clearTimeout(timer);
      this.#resolve = null;
    }
    this.#changed = false;
  }

  close(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
    for (const watcher of this.#watchers) watcher.close();
  }

  #wake(): void {
    this.#changed = true;
    this.#resolve?.();
  }
}
