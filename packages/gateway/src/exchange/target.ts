/** Destination of a response: a client's connection, a translation in front of it, or a batch. */
import type { ClientConnection } from "../http/client-connection.ts";

export interface ResponseTarget {
  /** Whether a response that is not an event stream must be given to `respond`, however large it is. */
  readonly needsWhole: boolean;
  /** Whether the target holds what it gets of an event stream until its end. The bounds of answers apply to it. */
  readonly keepsStream: boolean;
  /**
   * Sends a whole response. `headers` are lines with their CRLF, without the headers that the gateway sets for framing.
   */
  respond(status: number, headers: string, body: Buffer): void;
  /**
   * Sends the beginning of a response of unknown length, with its first bytes. If it returns false, wait for `drained`.
   */
  begin(status: number, headers: string, first: Buffer): boolean;
  /**
   * Sends more bytes of the response. `raw` holds the same bytes as complete chunks of the chunked coding, if the
   * upstream sent complete chunks.
   */
  write(bytes: Buffer, raw: Buffer | undefined): boolean;
  /**
   * Whether an event stream that ends now, with `rest` as its last bytes, is no whole answer. `hasBegun`: earlier bytes of it were
   * sent. Without this function every end is good.
   */
  isCut?(rest: Buffer | undefined, hasBegun: boolean): boolean;
  end(): void;
  /** Cuts the response off: it cannot be completed and must not look complete to the client. */
  abort(): void;
}

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  417: "Expectation Failed",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

function statusLine(status: number): string {
  return status === 200 ? "HTTP/1.1 200 OK\r\n" : `HTTP/1.1 ${status} ${reasons[status] ?? ""}\r\n`;
}

/** A whole response as bytes, for refusals that are sent before the request has been read. */
export function wholeResponse(status: number, headers: string, body: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${statusLine(status)}${headers}content-length: ${body.length}\r\nconnection: close\r\n\r\n`, "latin1"),
    body,
  ]);
}

const lastChunk = Buffer.from("0\r\n\r\n");
const chunkEnd = Buffer.from("\r\n");

/** One response on an HTTP/1.1 connection. A stream to an HTTP/1.0 client ends with the connection. */
export class HttpTarget implements ResponseTarget {
  readonly needsWhole = false;
  readonly keepsStream = false;
  readonly #connection: ClientConnection;
  readonly #isChunked: boolean;

  constructor(connection: ClientConnection, minorVersion: number) {
    this.#connection = connection;
    this.#isChunked = minorVersion === 1;
  }

  respond(status: number, headers: string, body: Buffer): void {
    const framing = status === 204 ? "" : `content-length: ${body.length}\r\n`;
    const connection = this.#connection.isLastRequest
      ? "connection: close\r\n"
      : this.#isChunked
        ? ""
        : "connection: keep-alive\r\n";
    this.#connection.writeHead(`${statusLine(status)}${headers}${framing}${connection}\r\n`, body);
    this.#connection.finish();
  }

  begin(status: number, headers: string, first: Buffer): boolean {
    if (!this.#isChunked) {
      this.#connection.isLastRequest = true;
      return this.#connection.writeHead(`${statusLine(status)}${headers}connection: close\r\n\r\n`, first);
    }
    const close = this.#connection.isLastRequest ? "connection: close\r\n" : "";
    const head = `${statusLine(status)}${headers}transfer-encoding: chunked\r\n${close}\r\n`;
    if (first.length === 0) return this.#connection.writeHead(head, first);
    return this.#connection.writeHead(`${head}${first.length.toString(16)}\r\n`, Buffer.concat([first, chunkEnd]));
  }

  write(bytes: Buffer, raw: Buffer | undefined): boolean {
    if (!this.#isChunked) return this.#connection.write(bytes);
    if (raw !== undefined) return this.#connection.write(raw);
    const size = `${bytes.length.toString(16)}\r\n`;
    const framed = Buffer.allocUnsafe(size.length + bytes.length + 2);
    framed.write(size, 0, "latin1");
    bytes.copy(framed, size.length);
    framed[framed.length - 2] = 13;
    framed[framed.length - 1] = 10;
    return this.#connection.write(framed);
  }

  end(): void {
    if (this.#isChunked) this.#connection.write(lastChunk);
    this.#connection.finish();
  }

  abort(): void {
    this.#connection.destroy();
  }
}

/** Ends a response whose replica failed after its first byte. `event`: the last event of a stream. */
export function endBroken(target: ResponseTarget, event: Buffer | undefined): void {
  if (event === undefined) return target.abort();
  target.write(event, undefined);
  target.end();
}
