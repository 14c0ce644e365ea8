/**
 * The head of an HTTP/1.1 request (RFC 9112), parsed strictly: a message that two parsers could frame differently is refused, never
 * repaired. Start at `parseRequestHead`; the framing rules are in `framingOf`.
 */

import { fieldValue, HeaderNames } from "./header-names.ts";

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** The minor version: 0 for HTTP/1.0, 1 for HTTP/1.1. */
  readonly minorVersion: number;
  readonly isKeepAlive: boolean;
  /** Length of the body in bytes: -1 with chunked encoding, 0 without a body. */
  readonly contentLength: number;
  readonly isExpectingContinue: boolean;
  /**
   * The key in the request: the bearer token of `authorization`, else `x-api-key`, else `api-key`. "" if there is none.
   */
  readonly key: string;
  readonly contentType: string;
  /** "" if the request has no such header, or several. */
  readonly traceparent: string;
  /** Header lines of `tracestate`, each with its CRLF. They belong to `traceparent`. */
  readonly tracestate: string;
  readonly requestId: string;
  /** Identity of the session for affinity: the value of `x-session-id`, or "". */
  readonly session: string;
  /** Values of the gateway's own headers by lower-case name (`x-headroom-zone`, `x-headroom-slo-ttft-ms`, …). */
  readonly own: ReadonlyMap<string, string> | undefined;
  /** End-to-end header lines for the upstream, each with its CRLF. Credentials are left out. */
  readonly forwarded: string;
}

export interface HeadProblem {
  readonly status: number;
  readonly message: string;
}

/** Maximum number of header lines of a request; Node's own limit is 2,000. */
const HEADER_COUNT_MAX = 128;

/**
 * Accepted methods. HEAD is left out because its responses are framed differently from all others, and CONNECT because
 * it opens a tunnel.
 */
const methods: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * Each part has one character class, and none is nested in another, so the match takes time linear in the length of the
 * head.
 */
const headPattern =
  /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32} \/[\x21-\x7e]* HTTP\/1\.[01]\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;

const readNames = new HeaderNames(
  [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "authorization",
    "api-key",
    "expect",
    "content-type",
    "traceparent",
    "tracestate",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "te",
    "trailer",
    "upgrade",
    "accept-encoding",
    "cookie",
    "openai-organization",
    "openai-project",
    "anthropic-workspace-id",
    "anthropic-user-profile-id",
  ],
  "x",
);

interface RequestFields {
  contentLength: string | undefined;
  transferEncoding: string | undefined;
  connection: string;
  hostCount: number;
  isExpectingContinue: boolean;
  unknownExpectation: boolean;
  bearer: string;
  apiKey: string;
  contentType: string;
  traceparent: string;
  traceparentCount: number;
  tracestate: string;
  requestId: string;
  session: string;
  own: Map<string, string> | undefined;
  forwarded: string;
  count: number;
  isDuplicate: boolean;
}

/** `text` is the head as Latin-1, up to the CRLF of the last header line, which is included. */
export function parseRequestHead(text: string): RequestHead | HeadProblem {
  if (!headPattern.test(text)) return { status: 400, message: "The request head is not valid HTTP/1.1." };
  // The pattern matched, so the target begins after the first blank and `HTTP/1.x` takes the last eight characters of
  // the line.
  const targetAt = text.indexOf(" ") + 1;
  const lineEnd = text.indexOf("\r", targetAt);
  const method = text.slice(0, targetAt - 1);
  if (!methods.has(method))
    return { status: 501, message: "Only GET, POST, PUT, PATCH, DELETE and OPTIONS are supported." };
  const fields = readFields(text, lineEnd + 2);
  if (fields.count > HEADER_COUNT_MAX) {
    return { status: 431, message: `The request has more than ${HEADER_COUNT_MAX} headers.` };
  }
  const minorVersion = text.charCodeAt(lineEnd - 1) === 49 ? 1 : 0;
  const problem = fieldProblem(fields, minorVersion);
  if (problem !== undefined) return problem;
  const contentLength = framingOf(fields, minorVersion);
  if (typeof contentLength !== "number") return contentLength;
  const connection = fields.connection === "" ? "" : `,${fields.connection.toLowerCase().replaceAll(/[ \t]/g, "")},`;
  return {
    method,
    target: text.slice(targetAt, lineEnd - 9),
    minorVersion,
    isKeepAlive: minorVersion === 1 ? !connection.includes(",close,") : connection.includes(",keep-alive,"),
    contentLength,
    isExpectingContinue: fields.isExpectingContinue && minorVersion === 1,
    key: fields.bearer === "" ? fields.apiKey : fields.bearer,
    contentType: fields.contentType,
    traceparent: fields.traceparentCount === 1 ? fields.traceparent : "",
    tracestate: withoutNominated(fields.tracestate, connection),
    requestId: fields.requestId,
    session: fields.session,
    own: fields.own,
    forwarded: withoutNominated(fields.forwarded, connection),
  };
}

function readFields(lines: string, from: number): RequestFields {
  const fields: RequestFields = {
    contentLength: undefined,
    transferEncoding: undefined,
    connection: "",
    hostCount: 0,
    isExpectingContinue: false,
    unknownExpectation: false,
    bearer: "",
    apiKey: "",
    contentType: "",
    traceparent: "",
    traceparentCount: 0,
    tracestate: "",
    requestId: "",
    session: "",
    own: undefined,
    forwarded: "",
    count: 0,
    isDuplicate: false,
  };
  let at = from;
  let runStart = from;
  while (at < lines.length) {
    const colon = lines.indexOf(":", at);
    const end = lines.indexOf("\r\n", colon);
    const next = end + 2;
    fields.count++;
    if (fields.count > HEADER_COUNT_MAX) break;
    if (
      readNames.mayHave(lines, at, colon) &&
      !isForwarded(fields, lines.slice(at, colon).toLowerCase(), lines.slice(colon + 1, end))
    ) {
      if (at > runStart) fields.forwarded += lines.slice(runStart, at);
      runStart = next;
    }
    at = next;
  }
  if (at > runStart) fields.forwarded += lines.slice(runStart, at);
  return fields;
}

/** Records headers that the gateway reads; returns whether the line is forwarded to the upstream. */
function isForwarded(fields: RequestFields, name: string, raw: string): boolean {
  switch (name) {
    case "host":
      fields.hostCount++;
      return false;
    case "content-length":
      if (fields.contentLength !== undefined) fields.isDuplicate = true;
      fields.contentLength = fieldValue(raw);
      return false;
    case "transfer-encoding":
      if (fields.transferEncoding !== undefined) fields.isDuplicate = true;
      fields.transferEncoding = fieldValue(raw).toLowerCase();
      return false;
    case "connection":
      fields.connection = fields.connection === "" ? fieldValue(raw) : `${fields.connection},${fieldValue(raw)}`;
      return false;
    case "authorization":
      fields.bearer = bearerOf(fieldValue(raw));
      return false;
    case "x-api-key":
    case "api-key":
      fields.apiKey = fieldValue(raw);
      return false;
    case "expect":
      if (fieldValue(raw).toLowerCase() === "100-continue") fields.isExpectingContinue = true;
      else fields.unknownExpectation = true;
      return false;
    case "content-type":
      fields.contentType = fieldValue(raw);
      return true;
    default:
      return isOtherForwarded(fields, name, raw);
  }
}

function isOtherForwarded(fields: RequestFields, name: string, raw: string): boolean {
  switch (name) {
    case "traceparent":
      fields.traceparent = fieldValue(raw);
      fields.traceparentCount++;
      return false;
    case "tracestate":
      fields.tracestate += `tracestate:${raw}\r\n`;
      return false;
    case "x-request-id":
      fields.requestId = fieldValue(raw);
      return false;
    case "x-session-id":
      fields.session = fieldValue(raw);
      return true;
    case "keep-alive":
    case "proxy-connection":
    case "proxy-authorization":
    case "te":
    case "trailer":
    case "upgrade":
    case "accept-encoding":
    case "cookie":
    // They would choose an account of the gateway's own credential at a provider.
    case "openai-organization":
    case "openai-project":
    case "anthropic-workspace-id":
    case "anthropic-user-profile-id":
    case "x-goog-user-project":
    // vLLM: the engine of a data-parallel group that takes the request.
    case "x-data-parallel-rank":
      return false;
    default:
      if (!name.startsWith("x-headroom-")) return true;
      fields.own ??= new Map();
      fields.own.set(name, ownValue(name, raw, fields.own.get(name)));
      return false;
  }
}

/** Several lines of a list are one list: a proxy and its client can each mark a request. The last line of another header holds. */
function ownValue(name: string, raw: string, before: string | undefined): string {
  const value = fieldValue(raw);
  return name === "x-headroom-data-rule" && before !== undefined ? `${before},${value}` : value;
}

function bearerOf(value: string): string {
  return /^bearer /i.test(value) ? fieldValue(value.slice(7)) : "";
}

function fieldProblem(fields: RequestFields, minorVersion: number): HeadProblem | undefined {
  if (fields.isDuplicate) return { status: 400, message: "A framing header occurs twice." };
  if (fields.hostCount > 1 || (minorVersion === 1 && fields.hostCount === 0)) {
    return { status: 400, message: "A request needs exactly one Host header." };
  }
  if (fields.unknownExpectation) return { status: 417, message: "Only `Expect: 100-continue` is supported." };
  return undefined;
}

/**
 * Length of the body by RFC 9112 §6.3. Every ambiguous framing is refused: both headers, other codings, signs, lists,
 * blanks.
 */
function framingOf(fields: RequestFields, minorVersion: number): number | HeadProblem {
  const { contentLength, transferEncoding } = fields;
  if (transferEncoding !== undefined) {
    if (contentLength !== undefined) {
      return { status: 400, message: "Content-Length and Transfer-Encoding exclude each other." };
    }
    if (minorVersion === 0) return { status: 400, message: "HTTP/1.0 has no Transfer-Encoding." };
    if (transferEncoding !== "chunked") return { status: 501, message: "The only transfer coding is `chunked`." };
    return -1;
  }
  if (contentLength === undefined) return 0;
  if (!/^\d{1,15}$/.test(contentLength)) return { status: 400, message: "Content-Length is not a number." };
  return Number(contentLength);
}

/** Removes the headers that `Connection` names: they are hop-by-hop (RFC 9110 §7.6.1). */
function withoutNominated(forwarded: string, connection: string): string {
  if (connection === "" || connection === ",close," || connection === ",keep-alive,") return forwarded;
  return forwarded
    .split("\r\n")
    .filter((line) => line !== "" && !connection.includes(`,${line.slice(0, line.indexOf(":")).toLowerCase()},`))
    .map((line) => `${line}\r\n`)
    .join("");
}
