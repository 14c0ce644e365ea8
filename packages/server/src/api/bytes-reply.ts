/** Sends large binary answers and limits how many are sent at once. */
import { refuse, snapshotHeaders } from "@headroom/protocol";
import type { Snapshot } from "@headroom/protocol";
import type { FastifyReply } from "fastify";

/** Maximum number of answers sent at the same time. An answer stays in memory until its client has received it. */
const HELD_MAX = 4;

const headers = {
  "content-type": "application/octet-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

export class ByteReplies {
  #heldCount = 0;

  async send(reply: FastifyReply, take: () => Promise<Snapshot>): Promise<void> {
    if (this.#heldCount >= HELD_MAX)
      throw refuse("overloaded", `${HELD_MAX} clients are already reading the state; try again in a moment.`);
    // The client disconnected before the answer was computed.
    if (reply.raw.closed) return;
    this.#heldCount += 1;
    reply.raw.once("close", () => {
      this.#heldCount -= 1;
    });
    const { bytes, sequence, nowMs } = await take();
    const told = { [snapshotHeaders.sequence.name]: sequence, [snapshotHeaders.nowMs.name]: nowMs };
    void reply.headers({ ...headers, ...told }).send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
}
