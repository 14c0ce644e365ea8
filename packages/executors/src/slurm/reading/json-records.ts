/**
 * Cuts the elements of the lists `jobs`, `nodes`, `sinfo` and `errors` out of JSON as it arrives, so that the answer about a large cluster
 * needs no more memory than its largest element.
 */

/** Far above a job with a thousand steps. */
const RECORD_BYTES_MAX = 16 << 20;
/** Slurm nests fewer than twenty levels. */
const DEPTH_MAX = 64;
const KEY_BYTES_MAX = 256;

/** The name of a list that is the whole JSON, as `jq .jobs` prints it. */
const UNNAMED = "items";
const lists: ReadonlySet<string> = new Set(["jobs", "nodes", "sinfo", "errors"]);

export interface JsonSink {
  /** `list`: the name of the list that the element is in. `text`: its JSON. `line`: where it starts. */
  record(list: string, text: string, line: number): void;
  broken(line: number, reason: string, text: string): void;
}

const char = { quote: 34, backslash: 92, open: 123, close: 125, openList: 91, closeList: 93, newline: 10 };

export class JsonRecords {
  readonly #sink: JsonSink;
  #line: number;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** The text that was read last at depth 1: the key of a list. */
  #key: number[] = [];
  #list: string | null = null;
  #record: { parts: Buffer[]; bytes: number; readonly line: number; deepest: number } | null = null;
  #hasList = false;

  constructor(sink: JsonSink, line = 1) {
    this.#sink = sink;
    this.#line = line;
  }

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let recordStart = 0;
    for (let index = 0; index < bytes.length; index += 1) {
      const byte = bytes[index] ?? 0;
      if (byte === char.newline) this.#line += 1;
      if (this.#isInText) {
        this.#textByte(byte);
        continue;
      }
      if (byte === char.quote) {
        this.#isInText = true;
        if (this.#depth === 1) this.#key = [];
      } else if (byte === char.open || byte === char.openList) {
        this.#opened(byte);
        if (this.#startsRecord(byte)) {
          this.#record = { parts: [], bytes: 0, line: this.#line, deepest: 0 };
          recordStart = index;
        }
        if (this.#record !== null && this.#depth > this.#record.deepest) this.#record.deepest = this.#depth;
      } else if (byte === char.close || byte === char.closeList) {
        this.#depth -= 1;
        if (this.#record !== null && this.#depth === this.#listDepth()) {
          this.#keep(bytes.subarray(recordStart, index + 1));
          this.#finish();
        } else if (this.#depth < this.#listDepth()) this.#list = null;
        if (this.#depth < 0) this.#depth = 0;
      }
    }
    if (this.#record !== null) this.#keep(bytes.subarray(recordStart));
  }

  end(): void {
    const record = this.#record;
    if (record !== null) this.#sink.broken(record.line, "the JSON ends within this record", shown(record.parts));
    else if (this.#depth > 0) this.#sink.broken(this.#line, "the JSON is cut off", "");
    else if (!this.#hasList) this.#sink.broken(1, "the JSON has no list of jobs or nodes", "");
  }

  #textByte(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === char.backslash) this.#isEscaped = true;
    else if (byte === char.quote) this.#isInText = false;
    if (this.#isInText && this.#depth === 1 && this.#key.length < KEY_BYTES_MAX) this.#key.push(byte);
  }

  #opened(byte: number): void {
    if (this.#depth === 0 && byte === char.openList) {
      this.#list = UNNAMED;
      this.#hasList = true;
    } else if (this.#depth === 1 && byte === char.openList) {
      const key = Buffer.from(this.#key).toString("latin1");
      this.#list = lists.has(key) ? key : null;
      if (this.#list !== null && key !== "errors") this.#hasList = true;
    }
    this.#depth += 1;
  }

  #startsRecord(byte: number): boolean {
    return this.#list !== null && this.#depth === this.#listDepth() + 1 && byte === char.open && this.#record === null;
  }

  /** The depth of the elements' list. */
  #listDepth(): number {
    return this.#list === UNNAMED ? 1 : 2;
  }

  #keep(part: Buffer): void {
    const record = this.#record;
    if (record === null) return;
    if (record.bytes <= RECORD_BYTES_MAX) record.parts.push(Buffer.from(part.subarray(0, RECORD_BYTES_MAX + 1)));
    record.bytes += part.length;
  }

  #finish(): void {
    const { record, list } = { record: this.#record, list: this.#list };
    this.#record = null;
    if (record === null || list === null) return;
    if (record.bytes > RECORD_BYTES_MAX) {
      this.#sink.broken(
        record.line,
        `the record has ${record.bytes} bytes; no record of Slurm is that long`,
        shown(record.parts),
      );
    } else if (record.deepest > DEPTH_MAX) {
      this.#sink.broken(record.line, `the record is nested more than ${DEPTH_MAX} levels deep`, shown(record.parts));
    } else this.#sink.record(list, Buffer.concat(record.parts).toString("utf8"), record.line);
  }
}

function shown(parts: readonly Buffer[]): string {
  return parts[0]?.subarray(0, 1000).toString("utf8") ?? "";
}
