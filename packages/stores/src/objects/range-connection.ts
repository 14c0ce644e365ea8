/**
 * One HTTP/1.1 connection for ranged reads of large objects. Bytes go from the socket into a few blocks, and from there to the file:
 * Node's client gives each 64 KiB a buffer of its own, which takes more processor time than reading and writing the bytes.
 *
 * Accepts only answers with a plain `content-length`. Others are `null`, and the caller repeats the request with Node's client.
 */
import { connect as connectPlain, isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";

const BLOCK_BYTES = 1024 * 1024;
/** One that is filled, and others that are written. */
const BLOCKS = 3;
/** Less space than this at the end of a block is not read into. */
const READ_BYTES_MIN = 64 * 1024;
const HEAD_BYTES_MAX = 32 * 1024;
/** Bytes that are given on at once, unless fewer came in `GATHER_MS`: rates and progress are measured by batch. */
const BATCH_BYTES = 512 * 1024;
const GATHER_MS = 50;

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

interface Block {
  readonly buffer: Buffer;
  filled: number;
  taken: number;
}

const newBlock = (): Block => ({ buffer: Buffer.allocUnsafeSlow(BLOCK_BYTES), filled: 0, taken: 0 });

export class RangeConnection {
  readonly #socket: Socket;
  readonly #silenceMs: number;
  readonly #free: Block[] = [];
  /** Blocks with bytes that are not taken, the oldest first; the last one is being filled. */
  readonly #blocks: Block[] = [newBlock()];
  #blockCount = 1;
  #isPaused = false;
  #error: Error | null = null;
  #wake: () => void = () => {};

  private constructor(target: ConnectionTarget) {
    const { host, port, silenceMs, isTls } = target;
    this.#silenceMs = silenceMs;
    const onread = { buffer: () => this.#space(), callback: (count: number) => this.#received(count) };
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
    if (this.#bytes() > 0) throw coded("ECONNRESET", "bytes came before the request");
    this.#socket.ref();
    this.#socket.setTimeout(this.#silenceMs);
    this.#socket.write(text, "latin1");
    let head = Buffer.alloc(0);
    for (;;) {
      const [piece] = await this.#take(1, HEAD_BYTES_MAX);
      const before = head.length;
      head = Buffer.concat([head, piece ?? Buffer.alloc(0)]);
      const end = head.indexOf("\r\n\r\n", Math.max(0, before - 3), "latin1");
      if (end >= 0) {
        this.#untake(head.length - end - 4);
        return readHead(head.toString("latin1", 0, end));
      }
      if (head.length >= HEAD_BYTES_MAX) return null;
    }
  }

  /** The next bytes of a body, of which `left` are to come. They are overwritten after the following call. */
  async next(left: number): Promise<readonly Uint8Array[]> {
    return this.#take(Math.min(left, BATCH_BYTES), left);
  }

  /** No answer is owed: the connection closes by itself after the time. False: more came than was asked for. */
  rest(idleMs: number): boolean {
    this.#release();
    const isClean = this.isOpen && this.#blocks.every(({ taken, filled }) => taken === filled);
    if (!isClean) return false;
    this.#socket.setTimeout(idleMs);
    this.#socket.unref();
    return true;
  }

  destroy(error?: Error): void {
    this.#fail(error ?? new Error("the request was ended"));
    this.#socket.destroy();
  }

  /** Waits until `least` bytes are there, or some for a while. Fails if none are there and none will come. */
  async #take(least: number, most: number): Promise<readonly Uint8Array[]> {
    this.#release();
    let isLate = false;
    let timer: NodeJS.Timeout | null = null;
    for (
      let bytes = this.#bytes();
      bytes < least && this.#error === null && !(isLate && bytes > 0);
      bytes = this.#bytes()
    ) {
      if (bytes > 0) timer ??= setTimeout(() => ((isLate = true), this.#wake()), GATHER_MS);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (timer !== null) clearTimeout(timer);
    const pieces: Uint8Array[] = [];
    let left = most;
    for (const block of this.#blocks) {
      const end = Math.min(block.filled, block.taken + left);
      if (end === block.taken) continue;
      pieces.push(block.buffer.subarray(block.taken, end));
      left -= end - block.taken;
      block.taken = end;
    }
    if (pieces.length === 0) throw this.#error ?? coded("ECONNRESET", "no bytes came");
    return pieces;
  }

  /** Gives back bytes of the last take. */
  #untake(bytes: number): void {
    let left = bytes;
    for (const block of this.#blocks.toReversed()) {
      const back = Math.min(left, block.taken);
      block.taken -= back;
      left -= back;
    }
  }

  /** Blocks whose bytes were taken, and written since, are filled again. */
  #release(): void {
    while (this.#blocks.length > 1 && this.#blocks[0]?.taken === this.#blocks[0]?.filled) {
      const block = this.#blocks.shift();
      if (block !== undefined) this.#free.push(Object.assign(block, { filled: 0, taken: 0 }));
    }
    if (!this.#isPaused || this.#free.length === 0) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  #bytes(): number {
    return this.#blocks.reduce((sum, { filled, taken }) => sum + filled - taken, 0);
  }

  /** Where the next bytes go. The socket reads into it until it is called again. */
  #space(): Buffer {
    const { buffer, filled } = this.#blocks.at(-1) as Block;
    return buffer.subarray(filled);
  }

  /** False pauses the socket: no block is free beside the one that is filled next. */
  #received(count: number): boolean {
    const block = this.#blocks.at(-1) as Block;
    block.filled += count;
    let isLast = false;
    if (BLOCK_BYTES - block.filled < READ_BYTES_MIN) {
      const known = this.#free.pop();
      this.#blocks.push(known ?? newBlock());
      if (known === undefined) this.#blockCount += 1;
      isLast = this.#free.length === 0 && this.#blockCount >= BLOCKS;
    }
    if (isLast) this.#isPaused = true;
    this.#wake();
    return !isLast;
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
