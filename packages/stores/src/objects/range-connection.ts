/**
 * One HTTP/1.1 connection for ranged reads of large objects, in the thread that reads them. All connections share one buffer: its
 * bytes are taken before the next read, so that they are written to the file while the processor has them in its cache.
 *
 * Accepts only answers with a plain `content-length`. Others are `null`, and the caller repeats the request with Node's client.
 */
import { connect as connectPlain, isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** More than the cache of a core holds makes the copies slower. */
const BUFFER_BYTES = 256 * 1024;
const HEAD_BYTES_MAX = 32 * 1024;

export interface ConnectionTarget {
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
  readonly connectTimeoutMs: number;
  /** Time without a byte after which the connection ends. */
  readonly silenceMs: number;
}

export interface RangeHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: number;
}

const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

export class RangeConnection {
  readonly #socket: Socket;
  readonly #silenceMs: number;
  /** Bytes that nothing has taken. The socket is paused while there are more than the head of an answer has. */
  #held: Buffer = Buffer.alloc(0);
  #isPaused = false;
  #take: ((bytes: Uint8Array) => void) | null = null;
  #error: Error | null = null;
  #wake: () => void = () => {};

  private constructor(target: ConnectionTarget) {
    const { host, port, silenceMs, isTls } = target;
    this.#silenceMs = silenceMs;
    const onread = { buffer, callback: (count: number) => this.#received(buffer.subarray(0, count)) };
    const options = { host, port, noDelay: true, onread };
    this.#socket = isTls
      ? connectTls({ ...options, servername: isIP(host) === 0 ? host : "", ALPNProtocols: ["http/1.1"] })
      : connectPlain(options);
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(coded("ECONNRESET", "the connection ended early")));
    this.#socket.on("timeout", () => this.destroy(coded("ETIMEDOUT", "no bytes came")));
  }

  static async open(target: ConnectionTarget): Promise<RangeConnection> {
    const connection = new RangeConnection(target);
    const socket = connection.#socket;
    socket.setTimeout(target.connectTimeoutMs);
    await new Promise<void>((resolve) => {
      socket.once(target.isTls ? "secureConnect" : "connect", () => resolve());
      socket.once("close", () => resolve());
    });
    if (connection.#error !== null) throw connection.#error;
    return connection;
  }

  get isOpen(): boolean {
    return this.#error === null;
  }

  /** Sends a request without a body, and reads the head of its answer. `null`: it has no plain length. Rejects if bytes came before. */
  async request(text: string): Promise<RangeHead | null> {
    // They came while nothing was owed, and are no answer to this request.
    if (this.#held.length > 0) throw coded("ECONNRESET", "bytes came before the request");
    this.#socket.setTimeout(this.#silenceMs);
    this.#socket.write(text, "latin1");
    for (let searched = 0; ;) {
      if (this.#held.length === searched && this.#error !== null) throw this.#error;
      if (this.#held.length === searched) await new Promise<void>((resolve) => (this.#wake = resolve));
      const end = this.#held.indexOf("\r\n\r\n", Math.max(0, searched - 3), "latin1");
      if (end >= 0) {
        const head = readHead(this.#held.toString("latin1", 0, end));
        this.#held = this.#held.subarray(end + 4);
        return head;
      }
      searched = this.#held.length;
      if (searched >= HEAD_BYTES_MAX) return null;
    }
  }

  /** Calls `take` with the body piece by piece, which is overwritten afterwards. Rejects with the error of `take`, and after a cut. */
  async body(bytes: number, take: (piece: Uint8Array) => void): Promise<void> {
    let left = bytes;
    const whole = Promise.withResolvers<void>();
    const takeOwn = (piece: Uint8Array): void => {
      const own = piece.subarray(0, left);
      left -= own.length;
      try {
        if (own.length > 0) take(own);
      } catch (error) {
        whole.reject(error);
        this.destroy();
      }
      if (left > 0) return;
      this.#take = null;
      if (piece.length > own.length) this.#hold(piece.subarray(own.length));
      whole.resolve();
    };
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    this.#take = takeOwn;
    this.#wake = () => (this.#error === null ? undefined : whole.reject(this.#error));
    takeOwn(held);
    if (left > 0) this.#wake();
    if (this.#isPaused) this.#socket.resume();
    this.#isPaused = false;
    await whole.promise;
  }

  /** No answer is owed: the connection closes by itself after the time. False: more came than was asked for. */
  rest(idleMs: number): boolean {
    if (!this.isOpen || this.#held.length > 0) return false;
    this.#socket.setTimeout(idleMs);
    return true;
  }

  destroy(error?: Error): void {
    this.#fail(error ?? new Error("the request was ended"));
    this.#socket.destroy();
  }

  /** False pauses the socket. */
  #received(bytes: Uint8Array): boolean {
    if (this.#take === null) this.#hold(bytes);
    else this.#take(bytes);
    this.#isPaused = this.#held.length >= HEAD_BYTES_MAX;
    return !this.#isPaused;
  }

  #hold(bytes: Uint8Array): void {
    this.#held = Buffer.concat([this.#held, bytes]);
    this.#wake();
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#wake();
  }
}

const coded = (code: string, text: string): Error => Object.assign(new Error(text), { code });

function readHead(text: string): RangeHead | null {
  const [first = "", ...lines] = text.split("\r\n");
  const status = /^HTTP\/1\.1 ([2-5]\d\d)(?: |$)/.exec(first)?.[1];
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    const key = name.toLowerCase();
    if (key === "content-length" && headers[key] !== undefined) return null;
    headers[key] = value;
  }
  const length = headers["content-length"] ?? "";
  if (status === undefined || !/^\d{1,15}$/.test(length) || headers["transfer-encoding"] !== undefined) return null;
  return { status: Number(status), headers, bytes: Number(length) };
}
