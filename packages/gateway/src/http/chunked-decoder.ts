/**
 * Incremental decoder of the chunked transfer coding (RFC 9112 §7.1), for requests and responses. Payload is never
 * copied.
 */

const CR = 13;
const LF = 10;
const TAB = 9;
const COLON = 58;
/** Maximum number of hex digits of a chunk's size. No valid chunk is larger. */
const SIZE_DIGITS_MAX = 8;
const EXTENSION_BYTES_MAX = 1024;
const TRAILER_BYTES_MAX = 8192;

type State =
  | "size"
  | "extension"
  | "sizeLf"
  | "data"
  | "dataCr"
  | "dataLf"
  | "trailer"
  | "trailerLf"
  | "done"
  | "broken";

export class ChunkedDecoder {
  #state: State = "size";
  #remaining = 0;
  #digits = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;
  #lineBytes = 0;
  #hasColon = false;

  get isDone(): boolean {
    return this.#state === "done";
  }
  get isBroken(): boolean {
    return this.#state === "broken";
  }
  /** True if the next byte begins a chunk. The bytes up to here can be forwarded unchanged. */
  get isBetweenChunks(): boolean {
    return this.#state === "size" && this.#digits === 0;
  }

  /**
   * Decodes `bytes` starting at `from` and appends the payload to `sink`. Returns the offset where it stopped: the end
   * of `bytes`, or the end of the last chunk.
   */
  decode(bytes: Buffer, from: number, sink: Buffer[]): number {
    let at = from;
    while (at < bytes.length && this.#state !== "done" && this.#state !== "broken") {
      if (this.#state === "data") {
        const end = Math.min(bytes.length, at + this.#remaining);
        sink.push(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
        this.#remaining -= end - at;
        at = end;
        if (this.#remaining === 0) this.#state = "dataCr";
      } else {
        this.#step(bytes[at]!);
        at++;
      }
    }
    return at;
  }

  #step(byte: number): void {
    switch (this.#state) {
      case "size":
        this.#size(byte);
        break;
      case "extension":
        this.#extension(byte);
        break;
      case "sizeLf":
        this.#sizeEnded(byte);
        break;
      case "dataCr":
        this.#state = byte === CR ? "dataLf" : "broken";
        break;
      case "dataLf":
        this.#state = byte === LF ? "size" : "broken";
        this.#digits = 0;
        this.#extensionBytes = 0;
        break;
      case "trailer":
        this.#trailer(byte);
        break;
      case "trailerLf":
        if (byte !== LF) this.#state = "broken";
        else this.#state = this.#lineBytes === 0 ? "done" : "trailer";
        this.#lineBytes = 0;
        this.#hasColon = false;
        break;
      case "data":
      case "done":
      case "broken":
        break;
    }
  }

  #size(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      this.#remaining = this.#digits === 0 ? digit : this.#remaining * 16 + digit;
      this.#digits++;
      if (this.#digits > SIZE_DIGITS_MAX) this.#state = "broken";
    } else if (this.#digits === 0) this.#state = "broken";
    else if (byte === CR) this.#state = "sizeLf";
    else this.#state = byte === 59 ? "extension" : "broken";
  }

  #extension(byte: number): void {
    this.#extensionBytes++;
    if (byte === CR) this.#state = "sizeLf";
    else if (byte < 32 || byte === 127 || this.#extensionBytes > EXTENSION_BYTES_MAX) this.#state = "broken";
  }

  #sizeEnded(byte: number): void {
    if (byte !== LF) this.#state = "broken";
    else this.#state = this.#remaining > 0 ? "data" : "trailer";
  }

  /** Trailer fields are validated and then dropped. */
  #trailer(byte: number): void {
    this.#trailerBytes++;
    if (byte === CR) this.#state = this.#lineBytes > 0 && !this.#hasColon ? "broken" : "trailerLf";
    else if ((byte < 32 && byte !== TAB) || byte === 127 || this.#trailerBytes > TRAILER_BYTES_MAX)
      this.#state = "broken";
    else {
      if (!this.#hasColon && byte === COLON) this.#hasColon = this.#lineBytes > 0;
      if (!this.#hasColon && !isTokenByte(byte)) this.#state = "broken";
      this.#lineBytes++;
    }
  }
}

/** Whether the byte may occur in a token (RFC 9110 §5.6.2). */
function isTokenByte(byte: number): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]$/.test(String.fromCharCode(byte));
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  if (byte >= 97 && byte <= 102) return byte - 87;
  return byte >= 65 && byte <= 70 ? byte - 55 : -1;
}
