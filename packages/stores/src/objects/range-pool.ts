/** Connections for ranged reads, in the thread that reads them. Those with a complete answer are kept for the next requests. */
import { RangeConnection } from "./range-connection.ts";
import type { ConnectionTarget, RangeHead } from "./range-connection.ts";

/** Servers close idle connections after some seconds; a request on a closed one is repeated. */
const IDLE_MS = 4_000;
/** Answers without a plain length in a row after which a server is left to the SDK for a while: each of them is asked for twice. */
const UNUSUAL_MAX = 3;
const UNUSUAL_MS = 300_000;

export interface RangeAnswer {
  readonly head: RangeHead;
  readonly connection: RangeConnection;
}

export class RangePool {
  /** Idle connections by scheme, host and port, the last used last. */
  readonly #idle = new Map<string, RangeConnection[]>();
  /** Answers without a plain length since the last usual one, by the same keys, and the time of the newest. */
  readonly #unusual = new Map<string, { readonly count: number; readonly atMs: number }>();

  /** `null`: the answer has no plain length. */
  async ask(target: ConnectionTarget, text: string, signal: AbortSignal): Promise<RangeAnswer | null> {
    const key = keyOf(target);
    const { count, atMs } = this.#unusual.get(key) ?? { count: 0, atMs: 0 };
    if (count >= UNUSUAL_MAX && performance.now() - atMs < UNUSUAL_MS) return null;
    const { connection, head } = await this.#asked(target, text, signal);
    if (head === null) {
      this.#unusual.set(key, { count: count + 1, atMs: performance.now() });
      connection.destroy();
      return null;
    }
    this.#unusual.delete(key);
    return { connection, head };
  }

  /** The whole body of the answer was taken. */
  release(target: ConnectionTarget, { head, connection }: RangeAnswer): void {
    const isKept = head.headers["connection"]?.toLowerCase() !== "close" && connection.rest(IDLE_MS);
    if (!isKept) return connection.destroy();
    const key = keyOf(target);
    this.#idle.set(key, [...(this.#idle.get(key) ?? []).filter(({ isOpen }) => isOpen), connection]);
  }

  /** A connection that was idle may have been closed by the server meanwhile, so its failure is followed by a new one. */
  async #asked(
    target: ConnectionTarget,
    text: string,
    signal: AbortSignal,
  ): Promise<{ readonly connection: RangeConnection; readonly head: RangeHead | null }> {
    const key = keyOf(target);
    const open = (this.#idle.get(key) ?? []).filter(({ isOpen }) => isOpen);
    const idle = open.pop();
    this.#idle.set(key, open);
    if (idle !== undefined)
      try {
        return { connection: idle, head: await requestOn(idle, text, signal) };
      } catch (error) {
        idle.destroy();
        signal.throwIfAborted();
        const { code } = error as NodeJS.ErrnoException;
        if (code !== "ECONNRESET" && code !== "EPIPE") throw error;
      }
    const connection = await RangeConnection.open(target);
    try {
      // It may have been aborted meanwhile, and then no listener is called.
      signal.throwIfAborted();
      return { connection, head: await requestOn(connection, text, signal) };
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }
}

const keyOf = ({ isTls, host, port }: ConnectionTarget): string => `${isTls} ${host} ${port}`;

async function requestOn(connection: RangeConnection, text: string, signal: AbortSignal): Promise<RangeHead | null> {
  const end = (): void => connection.destroy(signal.reason as Error);
  signal.addEventListener("abort", end, { once: true });
  try {
    return await connection.request(text);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
