/**
 * Gathers the pieces of an HTTP body, so that a transfer writes many of them at once. Sockets give 64 KiB at a time; a write for
 * each of them takes more processor time than the rest of a download.
 */
import type { Readable } from "node:stream";

const BATCH_BYTES = 1024 * 1024;
/** Time after which a smaller batch is given on: rates and progress are measured by batch. */
const GATHER_MS = 50;
/** The body is paused above this, while the receiver writes. */
const HELD_BYTES_MAX = 4 * BATCH_BYTES;

/** Ends with the error of the body, after the pieces before it. A body that is not read to its end is destroyed. */
export async function* bodyBatches(body: Readable): AsyncGenerator<readonly Uint8Array[]> {
  const gathered = new GatheredPieces(body);
  try {
    for (;;) {
      const pieces = await gathered.next();
      if (pieces.length === 0) return;
      yield pieces;
    }
  } finally {
    body.destroy();
  }
}

class GatheredPieces {
  readonly #body: Readable;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #end: { readonly error: Error | null } | null = null;
  #wake: () => void = () => {};

  constructor(body: Readable) {
    this.#body = body;
    body.on("data", (piece: Uint8Array) => this.#add(piece));
    body.once("end", () => this.#finish(null));
    body.on("error", (error: Error) => this.#finish(error));
    body.once("close", () =>
      this.#finish(
        body.readableEnded ? null : Object.assign(new Error("the connection ended early"), { code: "ECONNRESET" }),
      ),
    );
  }

  /** The pieces that have come; none: the body has ended. */
  async next(): Promise<readonly Uint8Array[]> {
    if (this.#bytes < BATCH_BYTES && this.#end === null) await this.#gather();
    const pieces = this.#pieces;
    if (pieces.length === 0 && this.#end !== null && this.#end.error !== null) throw this.#end.error;
    this.#pieces = [];
    this.#bytes = 0;
    if (this.#body.isPaused()) this.#body.resume();
    return pieces;
  }

  async #gather(): Promise<void> {
    if (this.#bytes === 0) await this.#arrival();
    if (this.#bytes >= BATCH_BYTES || this.#end !== null) return;
    const timer = setTimeout(() => this.#wake(), GATHER_MS);
    await new Promise<void>((resolve) => (this.#wake = resolve));
    clearTimeout(timer);
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #add(piece: Uint8Array): void {
    const isFirst = this.#bytes === 0;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes >= HELD_BYTES_MAX) this.#body.pause();
    if (isFirst || this.#bytes >= BATCH_BYTES) this.#wake();
  }

  #finish(error: Error | null): void {
    this.#end ??= { error };
    this.#wake();
  }
}
