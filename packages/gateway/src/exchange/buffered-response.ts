/** A response held back whole, so that a replica that fails in the middle can be replaced by another. */
import { usageIn, type TokenCounts } from "../json/usage.ts";

export class BufferedResponse {
  #parts: Buffer[] = [];
  #bytes = 0;

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

  usage(): TokenCounts | undefined {
    return this.#bytes === 0 ? undefined : usageIn(this.whole());
  }

  clear(): void {
    this.#parts = [];
    this.#bytes = 0;
  }
}

/** Whether the status is one that another replica may not return. */
export function isRetryable(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504;
}

/** Whether streams of this operation report usage only on request. */
export function asksForUsage(operation: string): boolean {
  return operation === "chat" || operation === "text_completion";
}
