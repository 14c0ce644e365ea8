/** Times at which the bytes of a stream were written. They are read together with the stream, from files of times. */
import type { FileHandle } from "node:fs/promises";
import type { LogStream } from "../executor.ts";
import { isMissing } from "./attempt-files.ts";
import { logTimesName, openLog } from "./log-files.ts";

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 10;

interface Mark {
  readonly fromByte: number;
  readonly atMs: number;
}

/** A part of a block with one time: whole lines, as byte offsets into the block. */
export interface TimedPart {
  readonly from: number;
  readonly to: number;
  /** `null`: unknown. */
  readonly atMs: number | null;
}

export class LogTimes {
  readonly #workerDir: string;
  readonly #stream: LogStream;
  #startByte = -1;
  #position = 0;
  /** Marks read so far: the newest one at or before the last requested byte, and all later ones. */
  #marks: Mark[] = [];
  #rest = "";

  constructor(workerDir: string, stream: LogStream) {
    this.#workerDir = workerDir;
    this.#stream = stream;
  }

  /**
   * Splits a block into parts that each have one time. The block belongs to the log file that begins at `startByte`;
   * its first byte has the offset `firstByte`. Blocks must be passed in ascending order.
   */
  async split(startByte: number, firstByte: number, block: Buffer): Promise<TimedPart[]> {
    const endByte = firstByte + block.length;
    await this.#readTo(startByte, endByte);
    while (this.#marks.length > 1 && (this.#marks[1]?.fromByte ?? 0) <= firstByte) this.#marks.shift();
    const parts: TimedPart[] = [];
    let from = 0;
    let atMs = this.#timeAt(firstByte);
    for (const mark of this.#marks) {
      if (mark.fromByte <= firstByte + from) continue;
      if (mark.fromByte >= endByte) break;
      // A line has the time of its first byte, so a part ends after the line that contains the next mark.
      const to = block.indexOf(NEWLINE, mark.fromByte - firstByte - 1) + 1;
      if (to <= from) break;
      parts.push({ from, to, atMs });
      from = to;
      atMs = this.#timeAt(firstByte + from);
    }
    if (from < block.length) parts.push({ from, to: block.length, atMs });
    return parts;
  }

  /** The time of the first output in the log file that begins at `startByte`; `null`: unknown. */
  async firstOf(startByte: number): Promise<number | null> {
    await this.#readTo(startByte, startByte);
    return this.#marks[0]?.atMs ?? null;
  }

  #timeAt(byte: number): number | null {
    return this.#marks.findLast(({ fromByte }) => fromByte <= byte)?.atMs ?? null;
  }

  /** Reads marks until one is at or after `byte`, or there are no more marks. */
  async #readTo(startByte: number, byte: number): Promise<void> {
    if (startByte !== this.#startByte) {
      this.#startByte = startByte;
      this.#position = 0;
      this.#marks = [];
      this.#rest = "";
    }
    if ((this.#marks.at(-1)?.fromByte ?? -1) >= byte) return;
    try {
      const file = await openLog(this.#workerDir, logTimesName(this.#stream, startByte));
      try {
        await this.#readMarks(file, byte);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  async #readMarks(file: FileHandle, byte: number): Promise<void> {
    const block = Buffer.alloc(BLOCK_BYTES);
    while ((this.#marks.at(-1)?.fromByte ?? -1) < byte) {
      const { bytesRead } = await file.read(block, 0, BLOCK_BYTES, this.#position);
      if (bytesRead === 0) return;
      this.#position += bytesRead;
      const lines = (this.#rest + block.toString("latin1", 0, bytesRead)).split("\n");
      this.#rest = (lines.pop() ?? "").slice(0, BLOCK_BYTES);
      for (const line of lines) {
        const [, from, at] = /^(\d{1,15}) (\d{1,15})$/.exec(line) ?? [];
        if (from !== undefined) this.#marks.push({ fromByte: Number(from), atMs: Number(at) });
      }
    }
  }
}
