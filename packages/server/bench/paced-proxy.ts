/** Passes HTTP requests on, and sends the answers at a rate that all of them share. */
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const PIECE_BYTES = 65_536;
/** Shorter pauses cost more than they say. */
const PAUSE_MS_MIN = 2;

export class PacedProxy {
  rateBytesS: number;
  readonly #reads = new Map<string, number>();
  #freeMs = 0;
  readonly #target: string;
  readonly #server = createServer((request, response) => {
    const to = new URL(request.url ?? "/", this.#target);
    if (request.method === "GET") this.#reads.set(to.pathname, this.readsOf(to.pathname) + 1);
    // With its `host`: the signature of a request contains it.
    const sent = httpRequest(to, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      void this.#pass(answer, response);
    });
    sent.on("error", () => response.destroy());
    request.pipe(sent);
  });

  constructor(target: string, rateBytesS: number) {
    this.#target = target;
    this.rateBytesS = rateBytesS;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Number of GET requests for the path. */
  readsOf(pathname: string): number {
    return this.#reads.get(pathname) ?? 0;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #pass(answer: AsyncIterable<Buffer>, response: NodeJS.WritableStream): Promise<void> {
    for await (const data of answer)
      for (let at = 0; at < data.length; at += PIECE_BYTES) {
        const piece = data.subarray(at, at + PIECE_BYTES);
        const nowMs = performance.now();
        this.#freeMs = Math.max(nowMs, this.#freeMs) + (piece.length / this.rateBytesS) * 1_000;
        if (this.#freeMs - nowMs > PAUSE_MS_MIN) await sleep(this.#freeMs - nowMs);
        response.write(piece);
      }
    response.end();
  }
}
