/** The head of an upstream's response (RFC 9112), parsed as strictly as the head of a request. */

import { fieldValue, HeaderNames } from "./header-names.ts";

export interface ResponseHead {
  readonly status: number;
  /** Length of the body in bytes: -1 with chunked encoding, -2 if the body ends with the connection. */
  readonly contentLength: number;
  readonly isKeepAlive: boolean;
  readonly isEventStream: boolean;
  readonly contentType: string;
  /** The upstream's `Retry-After` in milliseconds. Undefined if there is none. */
  readonly retryAfterMs: number | undefined;
  /** End-to-end header lines for the client, each with its CRLF. Headers for framing are left out. */
  readonly forwarded: string;
}

const headPattern =
  /^HTTP\/1\.[01] [1-5]\d{2}(?: [\t\x20-\x7e\x80-\xff]*)?\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;

const readNames = new HeaderNames([
  "content-length",
  "transfer-encoding",
  "connection",
  "content-type",
  "retry-after",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
  "set-cookie",
  "x-request-id",
]);

interface ResponseFields {
  contentLength: string | undefined;
  transferEncoding: string | undefined;
  connection: string;
  contentType: string;
  retryAfterMs: number | undefined;
  forwarded: string;
  isAmbiguous: boolean;
}

/**
 * `text` is the head as Latin-1, up to the CRLF of its last line, which is included. Returns undefined if it is
 * malformed.
 */
export function parseResponseHead(text: string): ResponseHead | undefined {
  if (!headPattern.test(text)) return undefined;
  // The pattern matched, so the line is `HTTP/1.x 200` with an optional reason.
  const status = Number(text.slice(9, 12));
  const fields = readFields(text, text.indexOf("\r") + 2);
  if (fields.isAmbiguous) return undefined;
  const contentLength = bodyLengthOf(fields, status);
  if (contentLength === undefined) return undefined;
  const connection = fields.connection.toLowerCase();
  const isKeepAlive = text.charCodeAt(7) === 49 ? !connection.includes("close") : connection.includes("keep-alive");
  return {
    status,
    contentLength,
    isKeepAlive: isKeepAlive && contentLength !== -2,
    isEventStream: fields.contentType.startsWith("text/event-stream"),
    contentType: fields.contentType,
    retryAfterMs: fields.retryAfterMs,
    forwarded: fields.forwarded,
  };
}

function readFields(lines: string, from: number): ResponseFields {
  const fields: ResponseFields = {
    contentLength: undefined,
    transferEncoding: undefined,
    connection: "",
    contentType: "",
    retryAfterMs: undefined,
    forwarded: "",
    isAmbiguous: false,
  };
  let at = from;
  let runStart = from;
  while (at < lines.length) {
    const colon = lines.indexOf(":", at);
    const end = lines.indexOf("\r\n", colon);
    if (
      readNames.mayHave(lines, at, colon) &&
      !isForwarded(fields, lines.slice(at, colon).toLowerCase(), lines, colon + 1, end)
    ) {
      if (at > runStart) fields.forwarded += lines.slice(runStart, at);
      runStart = end + 2;
    }
    at = end + 2;
  }
  if (at > runStart) fields.forwarded += lines.slice(runStart, at);
  return fields;
}

// Takes the line and the bounds of its value. A slice of every value would cost a string per header, and most values do
// not matter.
function isForwarded(fields: ResponseFields, name: string, lines: string, from: number, to: number): boolean {
  switch (name) {
    case "content-length": {
      const value = fieldValue(lines.slice(from, to));
      if (fields.contentLength !== undefined && fields.contentLength !== value) fields.isAmbiguous = true;
      fields.contentLength = value;
      return false;
    }
    case "transfer-encoding":
      if (fields.transferEncoding !== undefined) fields.isAmbiguous = true;
      fields.transferEncoding = fieldValue(lines.slice(from, to)).toLowerCase();
      return false;
    case "connection":
      fields.connection += `,${lines.slice(from, to)}`;
      return false;
    case "content-type":
      fields.contentType = fieldValue(lines.slice(from, to)).toLowerCase();
      return true;
    case "retry-after":
      fields.retryAfterMs = retryAfterOf(fieldValue(lines.slice(from, to)));
      return true;
    case "keep-alive":
    case "proxy-authenticate":
    case "proxy-connection":
    case "te":
    case "trailer":
    case "upgrade":
    case "set-cookie":
    case "x-request-id":
      return false;
    default:
      return true;
  }
}

/** Both forms of RFC 9110: a number of seconds, or a date. */
function retryAfterOf(value: string): number | undefined {
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const atMs = value.endsWith(" GMT") ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - Date.now());
}

function bodyLengthOf({ contentLength, transferEncoding }: ResponseFields, status: number): number | undefined {
  if (status < 200 || status === 204 || status === 304) return 0;
  if (transferEncoding !== undefined) {
    return transferEncoding === "chunked" && contentLength === undefined ? -1 : undefined;
  }
  if (contentLength === undefined) return -2;
  return /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : undefined;
}
