/**
 * Holds a response until it is complete, so that the request can be sent to another replica if this one fails in the
 * middle.
 */
import type { Operation } from "../protocols/endpoints.ts";
import { AnswerMemory, type AnswerLimit, type MemoryBudget } from "../http/memory-budget.ts";
import { usageAtEnd, usageFromStart, type TokenCounts } from "../json/usage.ts";
import { ResponseTail } from "./response-tail.ts";

export class BufferedResponse {
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Bytes of a response that is forwarded in parts. */
  #forwardedBytes = 0;
  #tail: ResponseTail | undefined;
  readonly #memory: AnswerMemory;
  /** Bytes of a stream that its target holds. */
  #keptBytes = 0;

  constructor(answers: MemoryBudget, answerBytesMax: number) {
    this.#memory = new AnswerMemory(answers, answerBytesMax);
  }

  get byteCount(): number {
    return this.#bytes;
  }

  /** Returns the limit that the response exceeds with these bytes, if it does. */
  add(parts: readonly Buffer[]): AnswerLimit | undefined {
    for (const part of parts) {
      this.#parts.push(part);
      this.#bytes += part.length;
    }
    return this.#memory.hold(this.#bytes);
  }

  /** Counts bytes of a stream that its target holds until the stream ends. */
  addKept(bytes: number): void {
    this.#keptBytes += bytes;
  }

  /**
   * Returns the limit that a stream exceeds with what its target holds and an event of `unfinishedBytes` whose end is
   * missing.
   */
  holdStream(unfinishedBytes: number): AnswerLimit | undefined {
    return this.#memory.hold(this.#keptBytes + unfinishedBytes);
  }

  /** Called at the end of the exchange: the memory counts no longer, although the usage may still be read. */
  ended(): void {
    this.#memory.hold(0);
  }

  whole(): Buffer {
    const [only] = this.#parts;
    if (only !== undefined && this.#parts.length === 1) return only;
    const bytes = Buffer.concat(this.#parts, this.#bytes);
    this.#parts = [bytes];
    return bytes;
  }

  /** Returns the held part of a response that is too large to be held. The following parts go to `addForwarded`. */
  release(): Buffer {
    const bytes = this.whole();
    this.clear();
    this.#forwardedBytes = bytes.length;
    this.#tail = new ResponseTail();
    this.#tail.add(bytes);
    return bytes;
  }

  addForwarded(parts: readonly Buffer[]): void {
    for (const part of parts) {
      this.#tail?.add(part);
      this.#forwardedBytes += part.length;
    }
  }

  /** Whether the response is forwarded in parts. */
  get isForwarded(): boolean {
    return this.#tail !== undefined;
  }

  /** Bytes that have arrived of a response that is forwarded in parts. 0 for every other. */
  get forwardedBytes(): number {
    return this.#forwardedBytes;
  }

  /** Usage that the response states. `isWhole` states that the response has ended and was not cut off. */
  usage(isWhole: boolean): TokenCounts | undefined {
    if (this.#tail !== undefined) return usageAtEnd(this.#tail.bytes) ?? usageFromStart(this.#tail.lastUsage);
    if (this.#bytes === 0) return undefined;
    const bytes = this.whole();
    return (isWhole ? usageAtEnd(bytes) : undefined) ?? usageFromStart(bytes);
  }

  clear(): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#forwardedBytes = 0;
    this.#keptBytes = 0;
    this.#tail = undefined;
    this.#memory.hold(0);
  }
}

/**
 * Whether another replica might answer with a better status. After a 500 a replica may have begun: only operations that
 * store nothing are sent again.
 */
export function isRetryable(status: number, operation: Operation): boolean {
  if (status === 500) return operation !== "responses" && operation !== "stored_response";
  return status === 429 || status === 502 || status === 503 || status === 504;
}

/** Whether streams of this operation report usage only if the request says so. */
export function asksForUsage(operation: string): boolean {
  return operation === "chat" || operation === "text_completion";
}
