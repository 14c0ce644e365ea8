/** Reads little-endian values of a file in order, through a window, without going beyond an end. */
import { refuse } from "./bounds.ts";

/** A file, or a part of memory. */
export interface ByteSource {
  readonly size: number;
  /** Exactly these bytes, which lie within the size. */
  bytes(offset: number, length: number): Uint8Array;
  /** Bytes as text of UTF-8; `null`: they are not. */
  text(bytes: Uint8Array): string | null;
}

const WINDOW_BYTES = 1 << 18;

/** The bytes that were read last, shared by the readers of one file: nested messages are small and lie side by side. */
class Window {
  readonly source: ByteSource;
  #bytes: Uint8Array = new Uint8Array(0);
  #start = 0;

  constructor(source: ByteSource) {
    this.source = source;
  }

  take(at: number, length: number): Uint8Array {
    if (at < this.#start || at + length > this.#start + this.#bytes.length) {
      this.#start = at;
      this.#bytes = this.source.bytes(at, Math.min(Math.max(WINDOW_BYTES, length), this.source.size - at));
    }
    return this.#bytes.subarray(at - this.#start, at - this.#start + length);
  }
}

export class ByteReader {
  readonly #window: Window;
  at: number;
  readonly end: number;

  private constructor(window: Window, at: number, end: number) {
    this.#window = window;
    this.at = at;
    this.end = end;
  }

  /** Reads the file up to `end`. */
  static of(source: ByteSource, end: number = source.size): ByteReader {
    return new ByteReader(new Window(source), 0, end);
  }

  get left(): number {
    return this.end - this.at;
  }

  #take(length: number, what: string): Uint8Array {
    const start = this.at;
    this.skip(length, what);
    return this.#window.take(start, length);
  }

  #view(length: number, what: string): DataView {
    const bytes = this.#take(length, what);
    return new DataView(bytes.buffer, bytes.byteOffset, length);
  }

  u8 = (what: string): number => this.#view(1, what).getUint8(0);
  i8 = (what: string): number => this.#view(1, what).getInt8(0);
  u16 = (what: string): number => this.#view(2, what).getUint16(0, true);
  i16 = (what: string): number => this.#view(2, what).getInt16(0, true);
  u32 = (what: string): number => this.#view(4, what).getUint32(0, true);
  i32 = (what: string): number => this.#view(4, what).getInt32(0, true);
  f32 = (what: string): number => this.#view(4, what).getFloat32(0, true);
  f64 = (what: string): number => this.#view(8, what).getFloat64(0, true);
  i64 = (what: string): bigint => this.#view(8, what).getBigInt64(0, true);

  /** A count, size or offset: refused above 2^53, because no file is that large. */
  size(what: string): number {
    const value = this.#view(8, what).getBigUint64(0, true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) refuse(`${what}: ${value} is too large for this file`);
    return Number(value);
  }

  /** The number of items that follow, each of at least `bytesMin` bytes. */
  count(what: string, bytesMin: number): number {
    const count = this.size(what);
    if (count > this.left / bytesMin)
      refuse(`${what}: ${count} need at least ${count * bytesMin} bytes, but ${this.left} are left in the file`);
    return count;
  }

  text(length: number, what: string): string {
    const text = this.#window.source.text(this.#take(length, what));
    return text ?? refuse(`${what} at byte ${this.at - length}: is not UTF-8`);
  }

  skip(length: number, what: string): void {
    if (length > this.left) refuse(`${what} at byte ${this.at}: needs ${length} bytes, but ${this.left} are left`);
    this.at += length;
  }

  /** A reader of the next bytes alone; this one continues after them. */
  part(length: number, what: string): ByteReader {
    const start = this.at;
    this.skip(length, what);
    return new ByteReader(this.#window, start, start + length);
  }
}
