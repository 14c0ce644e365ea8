/**
 * A WebSocket of the API server for remote commands (RFC 6455; k8s.io/apimachinery/pkg/util/remotecommand): each message is one byte with
 * the channel, then its bytes. Bytes of the server are not trusted: a frame that breaks the protocol ends the connection alone. Pings
 * keep it open through proxies, and find a peer that is gone.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";

/** Newest first. Only the first can close a channel (Kubernetes 1.30). */
export const CHANNEL_PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"] as const;
/** RFC 6455, section 1.3. */
const KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** Servers send at most 32 KiB at a time. */
const MESSAGE_MAX_BYTES = 1024 * 1024;
/** Parts of a message, and bytes of a control frame (section 5.5). */
const PIECES_MAX = 64;
const CONTROL_MAX_BYTES = 125;
const PING_MS = 20_000;
/** Time in ms without a byte after which the peer counts as gone. */
const SILENCE_MS = 55_000;

export const acceptOf = (key: string): string =>
  createHash("sha1")
    .update(key + KEY_SUFFIX)
    .digest("base64");

interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payload: Buffer;
  /** Bytes of the whole frame. */
  readonly length: number;
}

export class ChannelSocket {
  readonly protocol: string;
  /** Resolves when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;
  readonly #socket: Duplex;
  readonly #onMessage: (channel: number, data: Buffer) => void;
  readonly #timer: NodeJS.Timeout;
  #rest: Buffer = Buffer.alloc(0);
  #pieces: Buffer[] = [];
  /** Bytes of the pieces. */
  #size = 0;
  #heardAtMs = performance.now();
  #isOpen = true;

  constructor(socket: Duplex, head: Buffer, protocol: string, onMessage: (channel: number, data: Buffer) => void) {
    this.#socket = socket;
    this.protocol = protocol;
    this.#onMessage = onMessage;
    this.#timer = setInterval(() => this.#keepAlive(), PING_MS);
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    void this.closed.then(() => this.#end());
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.destroy());
    socket.on("data", (data: Buffer) => this.#take(data));
    if (head.length > 0) this.#take(head);
  }

  /** Resolves when the bytes are handed over, or the connection has ended. */
  send(channel: number, data: Uint8Array): Promise<void> {
    if (!this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => {
      this.#socket.write(frameOf(OPCODES.binary, Buffer.concat([Uint8Array.of(channel), data])), () => resolve());
    });
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#heardAtMs = performance.now();
    this.#socket.resume();
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket.end(frameOf(OPCODES.close, Buffer.alloc(0)));
    // A peer that does not close its side must not hold the connection.
    setTimeout(() => this.#socket.destroy(), 1_000).unref();
  }

  #end(): void {
    this.#isOpen = false;
    clearInterval(this.#timer);
  }

  #keepAlive(): void {
    // A slow reader hears nothing.
    if (!this.#socket.isPaused() && performance.now() - this.#heardAtMs > SILENCE_MS) this.#socket.destroy();
    else if (this.#isOpen) this.#socket.write(frameOf(OPCODES.ping, Buffer.alloc(0)));
  }

  #take(data: Buffer): void {
    this.#heardAtMs = performance.now();
    this.#rest = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    try {
      for (let frame = readFrame(this.#rest); frame !== null; frame = readFrame(this.#rest)) {
        this.#rest = this.#rest.subarray(frame.length);
        this.#handle(frame);
      }
    } catch {
      this.#socket.destroy();
    }
  }

  /** A server that does not read gets no answers: they would fill the memory. */
  #answerPing(payload: Buffer): void {
    if (this.#socket.writableLength > MESSAGE_MAX_BYTES) throw new Error("the server does not read");
    this.#socket.write(frameOf(OPCODES.pong, payload));
  }

  #handle({ opcode, isFinal, payload }: Frame): void {
    if (opcode >= OPCODES.close && (payload.length > CONTROL_MAX_BYTES || !isFinal))
      throw new Error("a long control frame");
    if (opcode === OPCODES.ping) this.#answerPing(payload);
    else if (opcode === OPCODES.close) this.close();
    else if (opcode <= OPCODES.binary) {
      this.#pieces.push(payload);
      this.#size += payload.length;
      if (this.#size > MESSAGE_MAX_BYTES || this.#pieces.length > PIECES_MAX) throw new Error("a long message");
      if (!isFinal) return;
      const message = Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#size = 0;
      const [channel] = message;
      if (channel !== undefined) this.#onMessage(channel, message.subarray(1));
    }
  }
}

/** A frame of a client, which masks its bytes (section 5.3). */
function frameOf(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 0x1_0000 ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | (length < 126 ? length : length < 0x1_0000 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  const masked = Buffer.alloc(length);
  for (let at = 0; at < length; at++) masked[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0);
  return Buffer.concat([head, mask, masked]);
}

/** `null`: the frame is not whole. Throws for one that no server may send. */
function readFrame(data: Buffer): Frame | null {
  if (data.length < 2) return null;
  const [first = 0, second = 0] = data;
  if ((second & 0x80) !== 0 || (first & 0x70) !== 0) throw new Error("a frame that breaks the protocol");
  const short = second & 0x7f;
  const start = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (data.length < start) return null;
  const size = short < 126 ? short : short === 126 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2));
  if (size > MESSAGE_MAX_BYTES) throw new Error("a long frame");
  if (data.length < start + size) return null;
  return {
    opcode: first & 0x0f,
    isFinal: (first & 0x80) !== 0,
    payload: data.subarray(start, start + size),
    length: start + size,
  };
}
