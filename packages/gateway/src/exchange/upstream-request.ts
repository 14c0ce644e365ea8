/**
 * Builds the request for a replica: its path, credentials, the model's name at the replica, and the option for a usage
 * event.
 */
import type { RequestPeek } from "../json/peek.ts";
import type { Pool } from "../replicas/pool.ts";
import type { Replica } from "../replicas/replica.ts";

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const noEdits: readonly Edit[] = [];

export interface UpstreamMessage {
  readonly head: string;
  readonly body: readonly Buffer[];
}

export interface MessageParts {
  readonly method: string;
  readonly path: string;
  readonly forwarded: string;
  readonly requestId: string;
  readonly traceparent: string;
  /** Header lines. */
  readonly tracestate: string;
  readonly body: Buffer;
  readonly edits: readonly Edit[];
}

export function upstreamMessage(parts: MessageParts, pool: Pool, replica: Replica): UpstreamMessage {
  const body = edited(parts.body, parts.edits);
  let length = 0;
  for (const piece of body) length += piece.length;
  const trace = parts.traceparent === "" ? "" : `traceparent: ${parts.traceparent}\r\n${parts.tracestate}`;
  const { lines, overridden } = pool.headers;
  let other = `${replica.hostLine}${parts.forwarded}x-request-id: ${parts.requestId}\r\n${trace}`;
  if (overridden !== undefined) other = other.replaceAll(overridden, "");
  const head =
    `${parts.method} ${replica.url.basePath}${parts.path} HTTP/1.1\r\n${other}${lines}` +
    `content-length: ${length}\r\n\r\n`;
  return { head, body };
}

export interface SentFields {
  readonly model: string;
  /** Whether to request a usage event that the client did not request. */
  readonly usage: boolean;
  /** The replica's own id of the response that the request continues. */
  readonly previousResponseId: string | undefined;
  readonly outputTokens: AddedMaximum | undefined;
}

/** A maximum of output tokens that the client did not state. */
export interface AddedMaximum {
  readonly field: string;
  readonly tokens: number;
}

export function bodyEdits(body: Buffer, peek: RequestPeek, sent: SentFields): readonly Edit[] {
  const { previousResponseId, outputTokens } = sent;
  if (sent.model === peek.model && !sent.usage && previousResponseId === undefined && outputTokens === undefined)
    return noEdits;
  const edits: Edit[] = [];
  if (outputTokens !== undefined) edits.push(maximumEdit(body, peek, outputTokens));
  if (previousResponseId !== undefined && peek.previousResponse !== undefined) {
    edits.push({ ...peek.previousResponse, text: JSON.stringify(previousResponseId) });
  }
  if (sent.model !== peek.model && peek.modelSpan !== undefined) {
    edits.push({ ...peek.modelSpan, text: JSON.stringify(sent.model) });
  }
  if (sent.usage) edits.push(usageEdit(body, peek));
  return edits.toSorted((a, b) => a.start - b.start);
}

/** A maximum that the client states as `null` is replaced: a second field of the same name could be the one that counts. */
function maximumEdit(body: Buffer, { emptyMaximum }: RequestPeek, { field, tokens }: AddedMaximum): Edit {
  if (emptyMaximum !== undefined) return { ...emptyMaximum, text: String(tokens) };
  const at = body.indexOf("{") + 1;
  return { start: at, end: at, text: `${JSON.stringify(field)}:${tokens},` };
}

function usageEdit(body: Buffer, peek: RequestPeek): Edit {
  const { streamOptions } = peek;
  if (streamOptions === undefined) {
    const at = body.indexOf("{") + 1;
    return { start: at, end: at, text: '"stream_options":{"include_usage":true},' };
  }
  let options: unknown;
  try {
    options = JSON.parse(body.toString("utf8", streamOptions.start, streamOptions.end));
  } catch {
    options = {};
  }
  const merged = typeof options === "object" && options !== null && !Array.isArray(options) ? options : {};
  return { ...streamOptions, text: JSON.stringify({ ...merged, include_usage: true }) };
}

function edited(body: Buffer, edits: readonly Edit[]): readonly Buffer[] {
  if (edits.length === 0) return [body];
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, text } of edits) {
    if (start > at) pieces.push(body.subarray(at, start));
    pieces.push(Buffer.from(text));
    at = end;
  }
  if (at < body.length) pieces.push(body.subarray(at));
  return body.length <= 16_384 ? [Buffer.concat(pieces)] : pieces;
}
