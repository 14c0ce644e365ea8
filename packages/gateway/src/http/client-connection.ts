/**
 * One connection of a client. It reads one request after the other, limits the size of each body, and writes responses.
 * It implements only HTTP; the protocols above HTTP are behind `ClientPort`.
 */
import type { Socket } from "node:net";
import { BodyCollector } from "./body-collector.ts";
import type { BodySlabs } from "./body-slabs.ts";
import { ChunkedDecoder } from "./chunked-decoder.ts";
import { TURN_REQUESTS, type FairTurns } from "./fair-turns.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import { parseRequestHead, type HeadProblem, type RequestHead } from "./request-head.ts";
import type { SharedBudget } from "./shared-budget.ts";
import { kept, withSharedReads } from "./shared-reads.ts";

export interface ClientLimits {
  readonly headBytesMax: number;
  readonly bodyBytesMax: number;
  readonly headTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly stallTimeoutMs: number;
}

/** Error of a message that cannot be served. */
export interface ClientProblem {
  readonly status: number;
  readonly message: string;
  /** The head, if it could be read. */
  readonly head?: RequestHead | undefined;
}

export interface ClientPort {
  readonly bounds: ClientLimits;
  readonly bodies: SharedBudget;
  readonly turns: FairTurns;
  readonly answers: MemoryBudget;
  readonly slabs: BodySlabs;
  now(): number;
  /**
   * Called after the head and before the body. If it returns false, the port has already answered with `refuse`. If not,
   * `bodyOwner` says who holds the body.
   */
  acceptsHead(connection: ClientConnection, head: RequestHead): boolean;
  handle(connection: ClientConnection, head: RequestHead, body: Buffer): void;
  /** Called if the message cannot be read. The port answers with `refuse`. `target` is "" if it is unknown. */
  refuseMessage(connection: ClientConnection, target: string, problem: ClientProblem): void;
  closed(connection: ClientConnection): void;
}

/** The functions of the request in progress that its connection calls. */
export interface ClientExchange {
  clientGone(): void;
  clientDrained(): void;
}

type ConnectionState = "head" | "body" | "busy" | "lingering" | "closed";

const headEnd = Buffer.from("\r\n\r\n");
const noBytes = Buffer.alloc(0);
/** Maximum number of pipelined bytes kept while a response is in progress. At the maximum, the socket is paused. */
const BACKLOG_BYTES_MAX = 65_536;
/**
 * Maximum number of bytes that are read and dropped after a refusal. Without reading them, a TCP reset would destroy
 * the refusal. Many clients read no answer before their whole body is sent, and buffers of the kernel alone hold 10 MB.
 */
const LINGER_BYTES_MAX = 128 * 1024 * 1024;
/** Maximum time in ms for which a refused client may send nothing, and for which it may send. */
const LINGER_MS = 2_000;
const LINGER_MS_MAX = 30_000;

export class ClientConnection {
  readonly socket: Socket;
  readonly address: string;
  readonly #port: ClientPort;
  #state: ConnectionState = "head";
  #backlog: Buffer = noBytes;
  #isPaused = false;
  #head: RequestHead | undefined;
  readonly #collector: BodyCollector;
  #bodyBytes = 0;
  #decoder: ChunkedDecoder | undefined;
  #lingeredBytes = 0;
  #lingerEndsAtMs = 0;
  #deadlineAtMs: number;
  #stalledSinceMs = 0;
  /** Bytes that wait in the socket and are counted. */
  #unsentBytes = 0;
  #isParsing = false;
  #isFinished = false;
  exchange: ClientExchange | undefined;
  /** The slab that holds the body of the request in progress, if there is one. */
  bodySlab: Buffer | undefined;
  /** Team or address whose share of the memory for bodies the body of the request in progress takes. */
  bodyOwner = "";
  isLastRequest = false;
  isKnown = false;
  requestCount = 0;
  #isWaitingForTurn = false;

  /** `accepted` is a socket from which nothing has been read yet. */
  constructor(accepted: Socket, port: ClientPort) {
    const { socket, isShared } = withSharedReads(accepted, (chunk) => {
      this.#onData(chunk);
      if (this.#backlog.length > 0) this.#backlog = kept(this.#backlog);
    });
    this.socket = socket;
    this.address = socket.remoteAddress ?? "";
    this.#port = port;
    this.#collector = new BodyCollector(port.slabs, isShared);
    this.#deadlineAtMs = port.now() + port.bounds.headTimeoutMs;
    socket.on("drain", () => {
      this.#stalledSinceMs = 0;
      this.exchange?.clientDrained();
      if (this.#state === "head" && this.#backlog.length > 0 && !this.#isParsing && !this.#isWaitingForTurn)
        this.#parseBacklog();
    });
    socket.on("end", () => this.#onGone());
    socket.on("error", () => this.#onGone());
    socket.on("close", () => this.#onGone());
  }

  get isIdle(): boolean {
    return this.#state === "head" && this.#backlog.length === 0;
  }

  /** Whether the connection may be closed for another one: no answer is lost but a refusal, and no request but a first. */
  get isEvictable(): boolean {
    return this.isIdle || this.#state === "lingering" || (this.#state === "head" && this.requestCount === 0);
  }

  get isOpen(): boolean {
    return this.#state !== "closed";
  }

  /** Returns false if the client reads too slowly. `clientDrained` is called when it has caught up. */
  write(bytes: Buffer): boolean {
    if (this.#state === "closed") return true;
    const goesOn = this.socket.write(bytes);
    if (!goesOn) {
      this.#holdUnsent();
      if (this.#stalledSinceMs === 0) this.#stalledSinceMs = this.#port.now();
    }
    return goesOn;
  }

  writeHead(text: string, body: Buffer): boolean {
    if (this.#state === "closed") return true;
    return this.write(joined(text, body));
  }

  /** Called when the response is complete. Reads the next request, or ends the connection. */
  finish(): void {
    if (this.#state === "closed") return;
    this.exchange = undefined;
    this.bodySlab = undefined;
    this.#releaseBody();
    this.#holdUnsent();
    if (this.isLastRequest) {
      this.#linger();
      return;
    }
    this.#state = "head";
    this.#head = undefined;
    this.#deadlineAtMs = this.#port.now() + this.#port.bounds.idleTimeoutMs;
    if (this.#isParsing) {
      this.#isFinished = true;
      return;
    }
    if (!this.#isWaitingForTurn) this.#parseBacklog();
  }

  /** Counts what a slow client has not taken of a response: whoever wrote it counts it no longer. */
  #holdUnsent(): void {
    const bytes = this.socket.writableLength - this.#unsentBytes;
    if (bytes <= 0) return;
    this.#unsentBytes += bytes;
    this.#port.answers.count(bytes);
    // Called when everything before it is sent, or when the socket is destroyed.
    this.socket.write(noBytes, () => {
      this.#unsentBytes -= bytes;
      this.#port.answers.give(bytes);
    });
  }

  /** Sends a whole response before the request has been read to its end, and then closes the connection. */
  refuse(response: Buffer): void {
    if (this.#state === "closed") return;
    this.exchange = undefined;
    this.isLastRequest = true;
    this.#releaseBody();
    this.socket.write(response);
    this.#linger();
  }

  /** Releases the body, because no further attempt needs it. */
  releaseBody(): void {
    this.#releaseBody();
  }

  destroy(): void {
    this.#onGone();
  }

  /** Called about once a second. */
  sweep(nowMs: number): void {
    const { stallTimeoutMs } = this.#port.bounds;
    const isStalled = this.#stalledSinceMs > 0;
    if (isStalled && nowMs - this.#stalledSinceMs > stallTimeoutMs) this.destroy();
    // While a client has not read its last response, its next request waits here and does not count as late.
    const isWaiting = isStalled || this.#isWaitingForTurn;
    if (this.#state === "busy" || (isWaiting && this.#state === "head")) return;
    if (nowMs < this.#deadlineAtMs) return;
    if (this.#state === "body" || (this.#state === "head" && this.#backlog.length > 0)) {
      const message = "The request took too long to arrive.";
      this.#refuseMessage({ status: 408, message }, this.#head?.target ?? targetIn(this.#backlog));
    } else this.destroy();
  }

  #onData(chunk: Buffer): void {
    switch (this.#state) {
      case "body":
        this.#readBody(chunk);
        return;
      case "head":
        if (this.#backlog.length === 0) this.#deadlineAtMs = this.#port.now() + this.#port.bounds.headTimeoutMs;
        this.#backlog = this.#backlog.length === 0 ? chunk : Buffer.concat([this.#backlog, chunk]);
        if (this.#isWaitingForTurn) this.#boundBacklog();
        else this.#parseBacklog();
        return;
      case "busy":
        this.#backlog = this.#backlog.length === 0 ? chunk : Buffer.concat([this.#backlog, chunk]);
        this.#boundBacklog();
        return;
      case "lingering":
        this.#lingeredBytes += chunk.length;
        this.#deadlineAtMs = Math.min(this.#lingerEndsAtMs, this.#port.now() + LINGER_MS);
        if (this.#lingeredBytes > LINGER_BYTES_MAX) this.destroy();
        return;
      case "closed":
        return;
    }
  }

  /**
   * Parses the pipelined requests. This is a loop and not recursion, because the client chooses their number. While a
   * client does not read its response, its next requests wait; after a few, it is the turn of other connections.
   */
  #parseBacklog(): void {
    this.#isParsing = true;
    let count = 0;
    do {
      this.#isFinished = false;
      if (count === TURN_REQUESTS) {
        this.#waitForTurn();
        break;
      }
      count++;
      if (this.#stalledSinceMs > 0) {
        this.#boundBacklog();
        break;
      }
      if (this.#backlog.length <= BACKLOG_BYTES_MAX) this.#resume();
      this.#parseHead();
    } while (this.#isFinished && this.#backlog.length > 0);
    this.#isParsing = false;
  }

  #waitForTurn(): void {
    this.#isWaitingForTurn = true;
    this.#boundBacklog();
    this.#port.turns.add(this);
  }

  takeTurn(): void {
    this.#isWaitingForTurn = false;
    if (this.#state === "head" && this.#backlog.length > 0) this.#parseBacklog();
  }

  #boundBacklog(): void {
    if (this.#backlog.length > BACKLOG_BYTES_MAX) this.#pause();
  }

  #parseHead(): void {
    let bytes = this.#backlog;
    // RFC 9112 §2.2: empty lines before a request line are ignored.
    let skipped = 0;
    while (bytes[skipped] === 13 && bytes[skipped + 1] === 10 && skipped < 8) skipped += 2;
    if (skipped > 0) bytes = bytes.subarray(skipped);
    const end = bytes.indexOf(headEnd);
    const { headBytesMax } = this.#port.bounds;
    if (end < 0 ? bytes.length > headBytesMax : end > headBytesMax) {
      const message = `The request head is larger than ${headBytesMax} bytes.`;
      this.#refuseMessage({ status: 431, message }, targetIn(bytes));
      return;
    }
    if (end < 0) {
      this.#backlog = bytes;
      this.#resume();
      return;
    }
    const head = parseRequestHead(bytes.toString("latin1", 0, end + 2));
    this.#backlog = end + 4 === bytes.length ? noBytes : bytes.subarray(end + 4);
    if ("status" in head) this.#refuseMessage(head, targetIn(bytes));
    else this.#begin(head);
  }

  #begin(head: RequestHead): void {
    this.#head = head;
    this.requestCount++;
    this.isLastRequest = !head.isKeepAlive;
    const { bodyBytesMax, bodyTimeoutMs } = this.#port.bounds;
    if (head.contentLength > bodyBytesMax) {
      this.#refuseMessage({ status: 413, message: `The request body is larger than ${bodyBytesMax} bytes.` });
      return;
    }
    if (!this.#port.acceptsHead(this, head)) return;
    if (head.contentLength === 0) {
      this.#dispatch(noBytes);
      return;
    }
    if (head.isExpectingContinue) this.socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    this.#state = "body";
    this.#deadlineAtMs = this.#port.now() + bodyTimeoutMs;
    this.#decoder = head.contentLength < 0 ? new ChunkedDecoder() : undefined;
    const first = this.#backlog;
    this.#backlog = noBytes;
    this.#resume();
    if (first.length > 0) this.#readBody(first);
  }

  #readBody(chunk: Buffer): void {
    const decoder = this.#decoder;
    if (decoder === undefined) {
      const missing = this.#head!.contentLength - this.#bodyBytes;
      if (chunk.length > missing) this.#backlog = chunk.subarray(missing);
      if (!this.#keep(chunk.length > missing ? chunk.subarray(0, missing) : chunk)) return;
      if (chunk.length >= missing) this.#bodyArrived();
      return;
    }
    const payload: Buffer[] = [];
    const stoppedAt = decoder.decode(chunk, 0, payload);
    for (const part of payload) if (!this.#keep(part)) return;
    if (decoder.isBroken) this.#refuseMessage({ status: 400, message: "The chunked body is malformed." });
    else if (decoder.isDone) {
      this.#backlog = stoppedAt === chunk.length ? noBytes : chunk.subarray(stoppedAt);
      this.#bodyArrived();
    }
  }

  #keep(part: Buffer): boolean {
    const { bodyBytesMax } = this.#port.bounds;
    if (this.#bodyBytes + part.length > bodyBytesMax) {
      this.#refuseMessage({ status: 413, message: `The request body is larger than ${bodyBytesMax} bytes.` });
      return false;
    }
    if (!this.#port.bodies.take(this.bodyOwner, part.length, this.#bodyBytes)) {
      this.#refuseMessage({ status: 503, message: "The gateway holds as many request bodies as it may." });
      return false;
    }
    this.#bodyBytes += part.length;
    this.#collector.add(part);
    return true;
  }

  #bodyArrived(): void {
    const { bytes, slab } = this.#collector.take();
    this.bodySlab = slab;
    const wasParsing = this.#isParsing;
    this.#isParsing = true;
    this.#dispatch(bytes);
    this.#isParsing = wasParsing;
    if (!wasParsing && this.#isFinished) {
      this.#isFinished = false;
      if (this.#backlog.length > 0) this.#parseBacklog();
    }
  }

  #dispatch(body: Buffer): void {
    this.#state = "busy";
    this.#boundBacklog();
    this.#port.handle(this, this.#head!, body);
  }

  #refuseMessage(problem: HeadProblem, target = this.#head?.target ?? ""): void {
    this.#port.refuseMessage(this, target, { ...problem, head: this.#head });
  }

  #releaseBody(): void {
    this.#port.bodies.give(this.bodyOwner, this.#bodyBytes);
    this.#bodyBytes = 0;
    this.#collector.clear();
    this.#decoder = undefined;
  }

  #linger(): void {
    this.#state = "lingering";
    this.#backlog = noBytes;
    this.#lingerEndsAtMs = this.#port.now() + LINGER_MS_MAX;
    this.#deadlineAtMs = this.#port.now() + LINGER_MS;
    this.#resume();
    this.socket.end();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.socket.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.socket.resume();
  }

  /** Called when the connection has ended: the client sent FIN or reset it, or the gateway closed it. */
  #onGone(): void {
    if (this.#state === "closed") return;
    const isLingering = this.#state === "lingering";
    this.#state = "closed";
    const { exchange } = this;
    this.exchange = undefined;
    this.#backlog = noBytes;
    exchange?.clientGone();
    this.#releaseBody();
    // A client that has closed its side can still read the rest of a refusal.
    if (!isLingering || this.socket.destroyed) this.socket.destroy();
    else this.socket.destroySoon();
    this.#port.closed(this);
  }
}

/**
 * Maximum size in bytes for which head and body are copied together. Below it, a copy costs less than a second buffer
 * in the system call.
 */
const JOINED_BYTES_MAX = 16_384;

function joined(text: string, body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(text.length + body.length);
  bytes.write(text, 0, "latin1");
  body.copy(bytes, text.length);
  return bytes;
}

/** Writes a head and a body in one system call. */
export function writeMessage(socket: Socket, text: string, body: readonly Buffer[]): boolean {
  const [only] = body;
  if (body.length === 1 && only!.length <= JOINED_BYTES_MAX) return socket.write(joined(text, only!));
  socket.cork();
  let goesOn = socket.write(Buffer.from(text, "latin1"));
  for (const part of body) goesOn = socket.write(part);
  socket.uncork();
  return goesOn;
}

const TARGET_BYTES_MAX = 1024;

/** The target of a head that cannot be parsed, if it can be found. It determines the format of the error. */
function targetIn(head: Buffer): string {
  return head.toString("latin1", 0, TARGET_BYTES_MAX).split(" ", 2)[1] ?? "";
}
