/** One connection to a replica. It sends a request, reads the response, and reports when it can be used again. */
import type { Socket } from "node:net";
import { ChunkedDecoder } from "./chunked-decoder.ts";
import { writeMessage } from "./client-connection.ts";
import { parseResponseHead, type ResponseHead } from "./response-head.ts";

export type UpstreamFailureKind = "connect" | "closed" | "malformed" | "truncated" | "timeout";

export interface UpstreamFailure {
  readonly kind: UpstreamFailureKind;
  readonly detail: string;
  /** Whether a reused connection closed without sending a byte. The request is then sent again on a new connection. */
  readonly isStale: boolean;
}

/** Receiver of a response. */
export interface ResponseReader {
  responseHead(head: ResponseHead): void;
  /** `raw` holds the same bytes with their chunk framing, if they are whole chunks. */
  responseBody(payload: readonly Buffer[], raw: Buffer | undefined): void;
  /** `isSent` states that the kernel has accepted the whole request. */
  responseEnd(isSent: boolean): void;
  responseFailed(failure: UpstreamFailure): void;
}

/** Events that a connection reports to its pool. */
export interface ConnectionOwner {
  readonly connectTimeoutMs: number;
  idle(connection: UpstreamConnection): void;
  closed(connection: UpstreamConnection): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const HEAD_BYTES_MAX = 65_536;
/** Maximum number of 1xx responses before the final one. */
const INTERIM_COUNT_MAX = 8;

export class UpstreamConnection {
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  #reader: ResponseReader | undefined;
  #pendingHead: Buffer | undefined;
  #head: ResponseHead | undefined;
  #decoder: ChunkedDecoder | undefined;
  #remaining = 0;
  #interimCount = 0;
  #hasReceived = false;
  #isConnected = false;
  #isClosed = false;
  #isPaused = false;
  #isHalfClosed = false;
  #servedCount = 0;
  #connectTimer: NodeJS.Timeout | undefined;

  /** `readyEvent` is `connect`, or `secureConnect` with TLS. */
  constructor(socket: Socket, readyEvent: string, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    this.#connectTimer = setTimeout(
      () => this.#fail("connect", `no connection within ${owner.connectTimeoutMs} ms`),
      owner.connectTimeoutMs,
    );
    socket.once(readyEvent, () => {
      this.#isConnected = true;
      clearTimeout(this.#connectTimer);
    });
    socket.on("end", () => this.#onEnd());
    socket.on("error", (error: Error) => this.#fail(this.#isConnected ? "closed" : "connect", error.message));
    socket.on("close", () => this.#fail(this.#isConnected ? "closed" : "connect", "the connection closed"));
  }

  get isUsable(): boolean {
    return !this.#isClosed && this.#reader === undefined;
  }

  send(head: string, body: readonly Buffer[], reader: ResponseReader): void {
    this.#reader = reader;
    this.#head = undefined;
    this.#pendingHead = undefined;
    this.#hasReceived = false;
    this.#interimCount = 0;
    writeMessage(this.#socket, head, body);
  }

  /** Closes the connection unless the response is complete. */
  cancel(reader: ResponseReader): void {
    if (this.#reader !== reader) return;
    this.#reader = undefined;
    this.#close();
  }

  /**
   * Sends FIN and continues reading. Returns false if the kernel has not accepted the whole request yet; the reader
   * must then cancel.
   */
  halfClose(reader: ResponseReader): boolean {
    if (this.#reader !== reader || this.#isClosed || !this.#isConnected || this.#socket.writableLength > 0)
      return false;
    this.#isHalfClosed = true;
    this.#resume();
    this.#socket.end();
    return true;
  }

  close(): void {
    this.#reader = undefined;
    this.#close();
  }

  failTimeout(reader: ResponseReader, detail: string): void {
    if (this.#reader === reader) this.#fail("timeout", detail);
  }

  failRefused(reader: ResponseReader, detail: string): void {
    if (this.#reader === reader) this.#fail("malformed", detail);
  }

  pause(reader: ResponseReader): void {
    if (this.#reader !== reader || this.#isPaused || this.#isClosed) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(reader: ResponseReader): void {
    if (this.#reader === reader) this.#resume();
  }

  #resume(): void {
    if (!this.#isPaused || this.#isClosed) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** Handles bytes from the socket. The buffer belongs to this connection. */
  received(chunk: Buffer): void {
    if (this.#isClosed) return;
    // The replica sent bytes without a request, so nothing that follows on this connection can be trusted.
    if (this.#reader === undefined) {
      this.#close();
      return;
    }
    this.#hasReceived = true;
    if (this.#head === undefined) this.#readHead(chunk);
    else this.#readBody(this.#head, chunk, 0);
  }

  #readHead(chunk: Buffer): void {
    let bytes = this.#pendingHead === undefined ? chunk : Buffer.concat([this.#pendingHead, chunk]);
    for (;;) {
      const end = bytes.indexOf(headEnd);
      if (end < 0 && bytes.length <= HEAD_BYTES_MAX) {
        this.#pendingHead = bytes;
        return;
      }
      const head =
        end < 0 || end > HEAD_BYTES_MAX ? undefined : parseResponseHead(bytes.toString("latin1", 0, end + 2));
      if (head === undefined || head.status === 101) {
        this.#fail("malformed", "the upstream's response head is not valid HTTP/1.1");
        return;
      }
      if (head.status >= 200) {
        this.#takeHead(head, bytes, end + 4);
        return;
      }
      this.#interimCount++;
      if (this.#interimCount > INTERIM_COUNT_MAX) {
        this.#fail("malformed", "the upstream sends interim responses without end");
        return;
      }
      bytes = bytes.subarray(end + 4);
    }
  }

  #takeHead(head: ResponseHead, bytes: Buffer, bodyStart: number): void {
    this.#pendingHead = undefined;
    this.#head = head;
    this.#remaining = head.contentLength;
    this.#decoder = head.contentLength === -1 ? new ChunkedDecoder() : undefined;
    this.#reader?.responseHead(head);
    // The reader may have cancelled this response meanwhile.
    if (this.#reader === undefined) return;
    if (head.contentLength === 0 || bodyStart < bytes.length) this.#readBody(head, bytes, bodyStart);
  }

  #readBody(head: ResponseHead, chunk: Buffer, from: number): void {
    if (this.#decoder !== undefined) this.#readChunked(this.#decoder, chunk, from);
    else if (head.contentLength === -2)
      this.#reader?.responseBody([from === 0 ? chunk : chunk.subarray(from)], undefined);
    else this.#readSized(chunk, from);
  }

  #readSized(chunk: Buffer, from: number): void {
    const end = Math.min(chunk.length, from + this.#remaining);
    this.#remaining -= end - from;
    const isDone = this.#remaining === 0;
    const reader = this.#reader;
    const isSent = this.#socket.writableLength === 0;
    if (isDone) this.#release(end === chunk.length);
    if (end > from)
      reader?.responseBody([from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end)], undefined);
    if (isDone) reader?.responseEnd(isSent);
  }

  #readChunked(decoder: ChunkedDecoder, chunk: Buffer, from: number): void {
    const isAligned = from === 0 && decoder.isBetweenChunks;
    const payload: Buffer[] = [];
    const stoppedAt = decoder.decode(chunk, from, payload);
    if (decoder.isBroken) {
      this.#fail("malformed", "the upstream's chunked body is malformed");
      return;
    }
    const reader = this.#reader;
    const isSent = this.#socket.writableLength === 0;
    if (decoder.isDone) this.#release(stoppedAt === chunk.length);
    if (payload.length > 0) reader?.responseBody(payload, isAligned && decoder.isBetweenChunks ? chunk : undefined);
    if (decoder.isDone) reader?.responseEnd(isSent);
  }

  /** Called when the response is complete. `isClean` states that no further bytes followed it. */
  #release(isClean: boolean): void {
    const isReusable =
      isClean && !this.#isHalfClosed && this.#head?.isKeepAlive === true && this.#socket.writableLength === 0;
    this.#reader = undefined;
    this.#servedCount++;
    this.#resume();
    if (isReusable) this.#owner.idle(this);
    else this.#close();
  }

  #onEnd(): void {
    const reader = this.#reader;
    if (reader !== undefined && this.#head?.contentLength === -2) {
      this.#reader = undefined;
      this.#close();
      reader.responseEnd(false);
      return;
    }
    this.#fail("closed", "the upstream closed the connection");
  }

  #fail(kind: UpstreamFailureKind, detail: string): void {
    if (this.#isClosed) return;
    const reader = this.#reader;
    this.#reader = undefined;
    this.#close();
    const isStale = kind === "closed" && this.#servedCount > 0 && !this.#hasReceived;
    reader?.responseFailed({
      kind: this.#head === undefined || kind !== "closed" ? kind : "truncated",
      detail,
      isStale,
    });
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#connectTimer);
    this.#socket.destroy();
    this.#owner.closed(this);
  }
}
