/** Keeps a copy of an answer on its way to its client, for the comparison with that of another revision. */
import type { ResponseTarget } from "../exchange/target.ts";

/** An answer that is larger is not compared. */
const ANSWER_BYTES_MAX = 262_144;

/** The bytes of an answer, up to the bound. */
export class KeptAnswer {
  #parts: Buffer[] = [];
  #bytes = 0;

  /** Copies the bytes: the buffers of a connection are used again. */
  add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= ANSWER_BYTES_MAX) this.#parts.push(Buffer.from(bytes));
    else this.#parts = [];
  }

  clear(): void {
    this.#parts = [];
    this.#bytes = 0;
  }

  /** Undefined if the answer exceeds the bound. */
  text(): string | undefined {
    return this.#bytes > ANSWER_BYTES_MAX ? undefined : Buffer.concat(this.#parts).toString("utf8");
  }
}

/** Passes everything on to the client's target. */
export class AnswerTap implements ResponseTarget {
  readonly kept = new KeptAnswer();
  readonly #inner: ResponseTarget;

  constructor(inner: ResponseTarget) {
    this.#inner = inner;
  }

  get needsWhole(): boolean {
    return this.#inner.needsWhole;
  }

  get keepsStream(): boolean {
    return this.#inner.keepsStream;
  }

  respond(status: number, headers: string, body: Buffer): void {
    this.kept.add(body);
    this.#inner.respond(status, headers, body);
  }

  begin(status: number, headers: string, first: Buffer): boolean {
    this.kept.clear();
    this.kept.add(first);
    return this.#inner.begin(status, headers, first);
  }

  write(bytes: Buffer, raw: Buffer | undefined): boolean {
    this.kept.add(bytes);
    return this.#inner.write(bytes, raw);
  }

  isCut(rest: Buffer | undefined, hasBegun: boolean): boolean {
    return this.#inner.isCut?.(rest, hasBegun) === true;
  }

  end(): void {
    this.#inner.end();
  }

  abort(): void {
    this.#inner.abort();
  }
}
