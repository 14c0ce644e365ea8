/** Sends a file to a client block by block, as fast as the client reads. */
import { open, type FileHandle } from "node:fs/promises";
import type { ResponseTarget } from "../exchange/target.ts";
import type { ClientExchange } from "../http/client-connection.ts";

const BLOCK_BYTES = 65_536;

export class FileAnswer implements ClientExchange {
  readonly #file: string;
  readonly #target: ResponseTarget;
  readonly #headers: string;
  #isGone = false;
  #resume: () => void = () => undefined;

  constructor(file: string, requestId: string, target: ResponseTarget) {
    this.#file = file;
    this.#headers = `content-type: application/octet-stream\r\nx-request-id: ${requestId}\r\n`;
    this.#target = target;
  }

  clientGone(): void {
    this.#isGone = true;
    this.#resume();
  }

  clientDrained(): void {
    this.#resume();
  }

  /**
   * Sends the file. Rejects, before anything is sent, if the file cannot be read. If reading fails later, the response
   * is cut off.
   */
  async send(): Promise<void> {
    const handle = await open(this.#file, "r");
    try {
      let block = await blockOf(handle);
      if (!this.#isGone) await this.#written(this.#target.begin(200, this.#headers, block));
      try {
        while (block.length > 0 && !this.#isGone) {
          block = await blockOf(handle);
          if (block.length > 0 && !this.#isGone) await this.#written(this.#target.write(block, undefined));
        }
        if (!this.#isGone) this.#target.end();
      } catch {
        this.#target.abort();
      }
    } finally {
      await handle.close();
    }
  }

  async #written(goesOn: boolean): Promise<void> {
    if (goesOn || this.#isGone) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
    });
  }
}

/** Each write gets its own block, because the socket keeps the block until it is sent. */
async function blockOf(handle: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(BLOCK_BYTES), 0, BLOCK_BYTES);
  return buffer.subarray(0, bytesRead);
}
