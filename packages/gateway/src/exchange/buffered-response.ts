/**
 * Holds a response until it is complete, so that the request can be sent to another replica if this one fails in the
 * middle.
 */
import { usageAtEnd, usageFromStart, type TokenCounts } from "../json/usage.ts";
import { ResponseTail } from "./response-tail.ts";

export class BufferedResponse {
  #parts: Buffer[] = [];
  #bytes = 0;
  #tail: ResponseTail | undefined;

  get byteCount(): number {
    return this.#bytes;
  }

  add(parts: readonly Buffer[]): void {
    for (const part of parts) {
      this.#parts.push(part);
      this.#bytes += part.length;
    }
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
    this.#tail = new ResponseTail();
    this.#tail.add(bytes);
    return bytes;
  }

  addForwarded(parts: readonly Buffer[]): void {
    for (const part of parts) this.#tail?.add(part);
  }

  /** Usage that the response states. `isWhole` states that the response has ended and was not cut off. */
  usage(isWhole: boolean): TokenCounts | undefined {
    if (isWhole && this.#tail !== undefined) return usageAtEnd(this.#tail.bytes);
    if (this.#bytes === 0) return undefined;
    const bytes = this.whole();
    return (isWhole ? usageAtEnd(bytes) : undefined) ?? usageFromStart(bytes);
  }

  clear(): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#tail = undefined;
  }
}

/** Whether another replica might answer with a better status. */
export function isRetryable(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504;
}

/** Whether streams of this operation report usage only if the request says so. */
export function asksForUsage(operation: string): boolean {
  return operation === "chat" || operation === "text_completion";
}
