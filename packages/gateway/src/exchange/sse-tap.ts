/**
 * Inspects an event stream on its way to the client. It forwards whole events only, counts them, reads usage, and
 * removes the usage event that the gateway itself requested. Bytes are copied only if something changes.
 */
import type { Operation } from "../protocols/endpoints.ts";
import { usageInEvent, type TokenCounts, type UsageWrapper } from "../json/usage.ts";

const lfEnd = Buffer.from("\n\n");
const crlfEnd = Buffer.from("\r\n\r\n");
const usageKey = Buffer.from('"usage"');
const emptyChoices = Buffer.from('"choices":[]');
const emptyChoicesSpaced = Buffer.from('"choices": []');
/**
 * First characters of events by which engines report that a stream has failed: in OpenAI's form, and in the form of
 * Anthropic and of the Responses API.
 */
const errorStarts = ['data: {"error"', 'data:{"error"', "event: error", "event:error", "event: response.failed"].map(
  (start) => Buffer.from(start),
);
const doneMarker = Buffer.from("data: [DONE]");
/**
 * Maximum size of an event in bytes. It is large because the last event of the Responses API repeats the whole answer.
 */
const EVENT_BYTES_MAX = 8 * 1024 * 1024;

const COPIED_BYTES_MAX = 4096;

/** Keys in events, by operation. An event with a non-empty text under one of them carries output. */
const contentKeys: Readonly<Record<string, readonly Buffer[]>> = {
  chat: ['"content":', '"reasoning_content":', '"reasoning":', '"refusal":', '"arguments":'].map((key) =>
    Buffer.from(key),
  ),
  text_completion: ['"text":'].map((key) => Buffer.from(key)),
  messages: ['"text":', '"partial_json":', '"thinking":'].map((key) => Buffer.from(key)),
  responses: ['"delta":'].map((key) => Buffer.from(key)),
};
const noKeys: readonly Buffer[] = [];

export class SseTap {
  readonly #keys: readonly Buffer[];
  readonly #hidesUsage: boolean;
  readonly #isAnthropic: boolean;
  readonly #wrapper: UsageWrapper | undefined;
  /** The first `#heldBytes` bytes are an event whose end is still missing. The rest is room for more of it. */
  #held: Buffer | undefined;
  #heldBytes = 0;
  #usage: TokenCounts | undefined;
  /** Number of events received from the upstream. `outputCount` counts only those with output. */
  eventCount = 0;
  outputCount = 0;
  isDone = false;
  isTooLong = false;
  hasError = false;

  constructor(operation: Operation, hidesUsage: boolean) {
    this.#keys = contentKeys[operation] ?? noKeys;
    this.#hidesUsage = hidesUsage;
    this.#isAnthropic = operation === "messages";
    this.#wrapper = operation === "messages" ? "message" : operation === "responses" ? "response" : undefined;
  }

  get usage(): TokenCounts | undefined {
    return this.#usage;
  }

  /** Whether the stream states its end or an error, after which it cannot go on. */
  get isOver(): boolean {
    return this.isDone || this.hasError;
  }

  /** Bytes of an event whose end is still missing. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Returns the bytes for the client. This is `payload` itself unless a part is held back or removed. */
  feed(payload: Buffer): Buffer | undefined {
    const data = this.#heldBytes === 0 ? payload : this.#joined(payload);
    if (data === undefined) return undefined;
    let kept: Buffer[] | undefined;
    let keptUntil = 0;
    let at = 0;
    while (at < data.length) {
      const end = endOfEvent(data, at);
      if (end < 0) break;
      const event = at === 0 && end === data.length ? data : data.subarray(at, end);
      if (this.#take(event)) {
        kept ??= [];
        if (at > keptUntil) kept.push(data.subarray(keptUntil, at));
        keptUntil = end;
      }
      at = end;
    }
    if (at < data.length) {
      this.#held = keptAlone(at === 0 ? data : data.subarray(at));
      this.#setHeld(this.#held.length);
    }
    if (kept === undefined) return at === data.length ? data : at === 0 ? undefined : data.subarray(0, at);
    if (at > keptUntil) kept.push(data.subarray(keptUntil, at));
    return kept.length === 0 ? undefined : kept.length === 1 ? kept[0] : Buffer.concat(kept);
  }

  /**
   * The held event with `payload` behind it, or `undefined` if its end is still missing. An event in many small pieces
   * costs time in proportion to its size: room doubles, and each byte is searched once.
   */
  #joined(payload: Buffer): Buffer | undefined {
    const before = this.#heldBytes;
    const bytes = before + payload.length;
    let held = this.#held as Buffer;
    if (held.length < bytes) {
      const grown = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * before));
      held.copy(grown, 0, 0, before);
      this.#held = held = grown;
    }
    payload.copy(held, before);
    // The end can begin up to three bytes before the new ones.
    if (endOfEvent(held.subarray(0, bytes), Math.max(0, before - 3)) < 0) {
      this.#setHeld(bytes);
      return undefined;
    }
    this.#held = undefined;
    this.#heldBytes = 0;
    return held.subarray(0, bytes);
  }

  #setHeld(bytes: number): void {
    this.#heldBytes = bytes;
    if (bytes > EVENT_BYTES_MAX) this.isTooLong = true;
  }

  /** The last event of a stream that ended without the blank line after the event. The client still gets it. */
  rest(): Buffer | undefined {
    const rest = this.#held?.subarray(0, this.#heldBytes);
    this.#held = undefined;
    this.#heldBytes = 0;
    return rest === undefined || this.#take(rest) ? undefined : rest;
  }

  /** Handles one event. Returns true if the event is not for the client. */
  #take(event: Buffer): boolean {
    this.eventCount++;
    if (event.indexOf(usageKey) >= 0) {
      const found = usageInEvent(event, this.#wrapper);
      if (found !== undefined) {
        this.#usage = this.#isAnthropic ? larger(this.#usage, found) : found;
        const hasNoChoices = event.indexOf(emptyChoices) >= 0 || event.indexOf(emptyChoicesSpaced) >= 0;
        if (hasNoChoices) return this.#hidesUsage;
      }
    }
    for (const key of this.#keys) {
      if (!hasText(event, key)) continue;
      this.outputCount++;
      return false;
    }
    if (event.length < 32 && event.indexOf(doneMarker) === 0) this.isDone = true;
    else if (errorStarts.some((start) => startsWith(event, start))) this.hasError = true;
    return false;
  }
}

/**
 * Copies a short part. Otherwise the part would keep the large buffer in which it arrived in memory while its stream is
 * silent.
 */
function keptAlone(part: Buffer): Buffer {
  if (part.length >= COPIED_BYTES_MAX) return part;
  const copy = Buffer.allocUnsafeSlow(part.length);
  part.copy(copy);
  return copy;
}

function larger(before: TokenCounts | undefined, now: TokenCounts): TokenCounts {
  if (before === undefined) return now;
  return {
    promptTokens: Math.max(before.promptTokens, now.promptTokens),
    completionTokens: Math.max(before.completionTokens, now.completionTokens),
    cachedTokens: Math.max(before.cachedTokens, now.cachedTokens),
  };
}

function endOfEvent(data: Buffer, from: number): number {
  const lf = data.indexOf(lfEnd, from);
  // Streams with CRLF are rare, so CRLF is searched only if no two LF follow one another.
  if (lf >= 0) return lf + 2;
  const crlf = data.indexOf(crlfEnd, from);
  return crlf < 0 ? -1 : crlf + 4;
}

function startsWith(event: Buffer, start: Buffer): boolean {
  return event.length >= start.length && event.compare(start, 0, start.length, 0, start.length) === 0;
}

/** Whether the event has this key with a non-empty string. */
function hasText(event: Buffer, key: Buffer): boolean {
  const found = event.indexOf(key);
  if (found < 0) return false;
  let at = found + key.length;
  while (event[at] === 32) at++;
  return event[at] === 34 && event[at + 1] !== 34;
}
