/** Answers that are bytes: large ones, so that only few are held for clients at a time. */
import { refuse, snapshotHeaders } from "@headroom/protocol";
import type { Snapshot } from "@headroom/protocol";
import type { FastifyReply } from "fastify";

/** Each is held until its client has taken it. */
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
      throw refuse("overloaded", `${HELD_MAX} others are taking the state already; try again in a moment.`);
    // Its client went away before anything was done for it.
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
