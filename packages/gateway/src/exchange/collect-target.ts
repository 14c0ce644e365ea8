/** Collects a response that the gateway itself needs, such as the answer to a line of a batch. */
import type { ResponseTarget } from "./target.ts";

export interface Collected {
  readonly status: number;
  readonly headers: string;
  readonly body: Buffer;
}

/** Maximum size of an answer in bytes. A larger one is refused. */
const BYTES_MAX = 64 * 1024 * 1024;

export class CollectTarget implements ResponseTarget {
  readonly #done: (response: Collected) => void;
  #status = 0;
  #headers = "";
  #parts: Buffer[] = [];
  #bytes = 0;

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
    this.#bytes = 0;
    return this.write(first);
  }

  write(bytes: Buffer): boolean {
    this.#bytes += bytes.length;
    if (this.#bytes <= BYTES_MAX) this.#parts.push(bytes);
    else this.#parts.length = 0;
    return true;
  }

  end(): void {
    if (this.#bytes > BYTES_MAX) this.abort();
    else this.#done({ status: this.#status, headers: this.#headers, body: Buffer.concat(this.#parts) });
  }

  abort(): void {
    this.#done({
      status: 502,
      headers: "",
      body: Buffer.from('{"error":{"message":"The model server failed while it answered."}}'),
    });
  }
}
