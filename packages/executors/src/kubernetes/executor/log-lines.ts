/**
 * Splits the log of a container, as the kubelet gives it with times, into lines: `2026-01-31T08:15:00.123456789Z text`. The kubelet goes
 * on from a second, not from a line, so a reader that comes back skips what it has: it knows the time of its last line, and how many
 * lines it has of that time. Pure.
 */

/** Where a reader is. Times have nine digits after the second, so that they compare as texts. */
export interface LogPlace {
  readonly time: string;
  /** Lines of this time that were read. */
  readonly lines: number;
}

export const LOG_START: LogPlace = { time: "", lines: 0 };

export interface LogLine {
  readonly text: Buffer;
  /** `null`: it continues the line before. */
  readonly atMs: number | null;
}

const NEWLINE = 10;
const TIME_MAX_BYTES = 64;
/** A longer line is passed on in pieces. */
const LINE_MAX_BYTES = 64 * 1024;
const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

export class LogLines {
  #place: LogPlace;
  readonly #from: LogPlace;
  #skipped = 0;
  #rest: Buffer = Buffer.alloc(0);
  /** The rest continues a line whose beginning was passed on, or skipped. */
  #isInside: "passed" | "skipped" | null = null;

  constructor(from: LogPlace) {
    this.#from = from;
    this.#place = from;
  }

  /** The place after the lines that were returned. */
  get place(): LogPlace {
    return this.#place;
  }

  push(piece: Uint8Array): readonly LogLine[] {
    const block = this.#rest.length === 0 ? Buffer.from(piece) : Buffer.concat([this.#rest, piece]);
    const found: LogLine[] = [];
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end >= 0; end = block.indexOf(NEWLINE, start)) {
      this.#line(block.subarray(start, end + 1), found);
      this.#isInside = null;
      start = end + 1;
    }
    this.#rest = block.subarray(start);
    if (this.#rest.length > LINE_MAX_BYTES) this.#flush(found);
    return found;
  }

  /** The rest at the end of the log. */
  end(): readonly LogLine[] {
    const found: LogLine[] = [];
    if (this.#rest.length > 0) this.#flush(found);
    return found;
  }

  #flush(found: LogLine[]): void {
    const isSkipped = this.#line(this.#rest, found);
    this.#isInside = isSkipped ? "skipped" : "passed";
    this.#rest = Buffer.alloc(0);
  }

  /** Returns whether the line was read before. */
  #line(line: Buffer, found: LogLine[]): boolean {
    if (this.#isInside !== null) {
      if (this.#isInside === "passed") found.push({ text: line, atMs: null });
      return this.#isInside === "skipped";
    }
    const head = line.subarray(0, TIME_MAX_BYTES).indexOf(" ");
    const time = head < 0 ? null : normalTime(line.toString("latin1", 0, head));
    // The kubelet writes its own messages without a time.
    if (time === null) {
      found.push({ text: line, atMs: null });
      return false;
    }
    if (this.#isKnown(time)) return true;
    this.#place = { time, lines: time === this.#place.time ? this.#place.lines + 1 : 1 };
    found.push({ text: line.subarray(head + 1), atMs: Date.parse(`${time.slice(0, MILLISECONDS)}Z`) });
    return false;
  }

  #isKnown(time: string): boolean {
    if (time < this.#from.time) return true;
    if (time !== this.#from.time || this.#skipped >= this.#from.lines) return false;
    this.#skipped += 1;
    return true;
  }
}

/** Length of `2026-01-31T08:15:00.123`. */
const MILLISECONDS = 23;

/** `null`: the text is no time. */
function normalTime(text: string): string | null {
  const [, second, fraction = "", zone] = TIME.exec(text) ?? [];
  if (second === undefined || zone === undefined) return null;
  const at = Date.parse(second + zone);
  if (Number.isNaN(at)) return null;
  return `${new Date(at).toISOString().slice(0, 19)}.${fraction.padEnd(9, "0")}`;
}

/** The time from which the kubelet is asked to go on; `undefined`: from the beginning. */
export const sinceTimeOf = ({ time }: LogPlace): string | undefined =>
  time === "" ? undefined : `${time.slice(0, 19)}Z`;
