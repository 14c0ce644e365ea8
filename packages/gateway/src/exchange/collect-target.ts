/** Collects a response that the gateway itself needs, such as the answer to a line of a batch. */
import type { ResponseTarget } from "./target.ts";

export interface Collected {
  readonly status: number;
  readonly headers: string;
  readonly body: Buffer;
}

export class CollectTarget implements ResponseTarget {
  readonly needsWhole = true;
  readonly keepsStream = true;
  readonly #done: (response: Collected) => void;
  #status = 0;
  #headers = "";
  #parts: Buffer[] = [];

  constructor(done: (response: Collected) => void) {
    this.#done = done;
  }

  respond(status: number, headers: string, body: Buffer): void {
    this.#done({ status, headers, body });
  }

  begin(status: number, headers: string, first: Buffer): boolean {
    this.#status = status;
    this.#headers = headers;
    this.#parts = [];
    return this.write(first);
  }

  write(bytes: Buffer): boolean {
    this.#parts.push(bytes);
    return true;
  }

  end(): void {
    this.#done({ status: this.#status, headers: this.#headers, body: Buffer.concat(this.#parts) });
  }

  abort(): void {
    this.#done({
      status: 502,
      headers: "",
      body: Buffer.from('{"error":{"message":"The model server failed while it answered."}}'),
    });
  }
}
