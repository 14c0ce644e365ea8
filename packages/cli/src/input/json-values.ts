/**
 * The JSON values of a file: one for each line, or the elements of an array, or values that are printed over several lines. A value
 * that is cut, too long or too deep is one problem with its line, and the values after it are still read.
 */
import type { CommandContext } from "../command.ts";
import { fileChunks } from "./file-chunks.ts";

export type FoundValue = FoundJson | FoundProblem;
export interface FoundJson {
  /** Line of its first byte, from 1. */
  readonly line: number;
  readonly text: string;
  readonly value: unknown;
}
export interface FoundProblem {
  readonly line: number;
  readonly problem: string;
}

/** Bytes of one value: above the largest logical plans of Spark in OpenLineage events. */
const VALUE_BYTES_MAX = 16 << 20;
const DEPTH_MAX = 256;

const [NEWLINE, QUOTE, COMMA, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  10, 34, 44, 92, 91, 93, 123, 125,
];
const isSpace = (byte: number): boolean => byte === 32 || (byte >= 9 && byte <= 13);

/** The values of each piece of the file. */
export async function* jsonValues(context: CommandContext, file: string): AsyncGenerator<readonly FoundValue[]> {
  const splitter = new JsonSplitter();
  for await (const chunk of fileChunks(context, file))
    yield splitter.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  yield splitter.end();
}

/**
 * `start`: nothing but white space so far. `brace`: a line that is only `{` so far. `lines`: a value ends with its line.
 * `document`: values end where their brackets close, because a value or an array goes over several lines.
 */
type Mode = "start" | "brace" | "lines" | "document";

export class JsonSplitter {
  #mode: Mode = "start";
  #line = 1;
  /** The value that is being read. */
  #parts: Buffer[] = [];
  #bytes = 0;
  #valueLine = 1;
  #isInValue = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isInList = false;
  #found: FoundValue[] = [];

  push(chunk: Buffer): readonly FoundValue[] {
    let at = 0;
    while (at < chunk.length) {
      if (this.#mode === "lines") at = this.#lines(chunk, at);
      else if (this.#mode === "document") at = this.#document(chunk, at);
      else at = this.#start(chunk, at);
    }
    return this.#taken();
  }

  end(): readonly FoundValue[] {
    if (this.#isInValue) {
      if (this.#mode === "document" && (this.#depth > 0 || this.#isInString))
        this.#problem("the value does not end: the file is cut");
      else this.#finish();
    }
    if (this.#isInList) this.#found.push({ line: this.#line, problem: "the array does not end: the file is cut" });
    return this.#taken();
  }

  #taken(): readonly FoundValue[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  /** Finds out how the file is written; one byte at a time. */
  #start(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    if (this.#mode === "brace") {
      if (byte !== NEWLINE && isSpace(byte)) this.#keep(chunk, at, at + 1);
      else this.#mode = byte === NEWLINE ? "document" : "lines";
      return byte !== NEWLINE && isSpace(byte) ? at + 1 : at;
    }
    // The byte order mark of UTF-8.
    if (isSpace(byte) || byte === 0xef || byte === 0xbb || byte === 0xbf) {
      if (byte === NEWLINE) this.#line += 1;
      return at + 1;
    }
    if (byte === OPEN_OBJECT) {
      this.#open();
      this.#depth = 1;
      this.#keep(chunk, at, at + 1);
      this.#mode = "brace";
      return at + 1;
    }
    this.#mode = byte === OPEN_LIST ? "document" : "lines";
    return at;
  }

  #lines(chunk: Buffer, from: number): number {
    const end = chunk.indexOf(NEWLINE, from);
    const to = end < 0 ? chunk.length : end;
    if (!this.#isInValue && to > from) this.#open();
    this.#keep(chunk, from, to);
    if (end < 0) return to;
    if (this.#isInValue) this.#finish();
    this.#line += 1;
    return end + 1;
  }

  #document(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length && !this.#isInValue) at = this.#between(chunk[at] ?? 0, at);
    const start = at;
    while (at < chunk.length && this.#isInValue) {
      const byte = chunk[at] ?? 0;
      if (this.#isScalarEnd(byte)) {
        this.#keep(chunk, start, at);
        this.#finish();
        return at;
      }
      at += 1;
      if (byte === NEWLINE) this.#line += 1;
      if (this.#isInString) this.#inString(byte);
      else if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#depth += 1;
      else if ((byte === CLOSE_OBJECT || byte === CLOSE_LIST) && --this.#depth === 0) {
        this.#keep(chunk, start, at);
        this.#finish();
        return at;
      }
    }
    this.#keep(chunk, start, at);
    return at;
  }

  /** Between two values: returns the index of the next byte to read. */
  #between(byte: number, at: number): number {
    if (byte === NEWLINE) this.#line += 1;
    if (isSpace(byte) || (byte === COMMA && this.#isInList)) return at + 1;
    if (byte === OPEN_LIST && !this.#isInList) {
      this.#isInList = true;
      return at + 1;
    }
    if (byte === CLOSE_LIST && this.#isInList) {
      this.#isInList = false;
      return at + 1;
    }
    this.#open();
    return at;
  }

  /** Values without brackets end before a comma, white space or the end of the list. */
  #isScalarEnd(byte: number): boolean {
    if (this.#depth > 0 || this.#isInString) return false;
    return isSpace(byte) || byte === COMMA || byte === CLOSE_LIST;
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    // JSON has no line breaks in strings: the string lacks its quote, and the values after it must not be part of it.
    else if (byte === QUOTE || byte === NEWLINE) this.#isInString = false;
  }

  #open(): void {
    this.#isInValue = true;
    this.#valueLine = this.#line;
    this.#depth = 0;
    this.#isInString = false;
    this.#isEscaped = false;
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    if (to <= from) return;
    this.#bytes += to - from;
    if (this.#bytes <= VALUE_BYTES_MAX) this.#parts.push(Buffer.from(chunk.subarray(from, to)));
  }

  #finish(): void {
    if (this.#bytes > VALUE_BYTES_MAX) {
      this.#problem(`longer than ${VALUE_BYTES_MAX} bytes`);
      return;
    }
    const bytes = this.#parts.length === 1 ? (this.#parts[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#parts);
    const line = this.#valueLine;
    this.#reset();
    const read = readJson(bytes);
    if (read !== null) this.#found.push({ line, ...read });
  }

  #problem(problem: string): void {
    this.#found.push({ line: this.#valueLine, problem });
    this.#reset();
  }

  #reset(): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#isInValue = false;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** `null`: a line of white space. */
function readJson(
  bytes: Buffer,
): { readonly text: string; readonly value: unknown } | { readonly problem: string } | null {
  let text: string;
  try {
    text = utf8.decode(bytes).trim();
  } catch {
    return { problem: "not UTF-8" };
  }
  if (text === "") return null;
  if (isDeeper(bytes, DEPTH_MAX)) return { problem: `nested more than ${DEPTH_MAX} levels deep` };
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch (error) {
    const message = error instanceof Error ? error.message : "unknown error";
    // V8 quotes a part of the text, which can be long.
    return { problem: `not JSON: ${message.replace(/, (?:\.\.\.)?".*$/s, "").slice(0, 200)}` };
  }
}

function isDeeper(bytes: Buffer, depthMax: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isInString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
  }
  return false;
}
