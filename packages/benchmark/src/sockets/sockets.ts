/**
 * Sockets of the load generator and the mock upstream. There are two implementations: `native` calls the kernel through
 * node:ffi and needs Linux; `node` uses node:net. The native one needs about a third of the CPU time per request, so
 * that one core can load a proxy on another core.
 */
export interface Connection {
  /** Data of the socket's owner, an object for each connection. */
  state: unknown;
  readonly isOpen: boolean;
  /**
   * Writes all bytes, immediately or when the socket accepts them. The bytes are not copied, so they must not change.
   */
  write(bytes: Buffer): void;
  close(): void;
}

export interface Handlers {
  opened(connection: Connection): void;
  /** `bytes` is valid only during the call. */
  received(connection: Connection, bytes: Buffer): void;
  /** Called when the peer closed the connection or it failed. Not called after `close()`. */
  closed(connection: Connection): void;
}

export interface Sockets {
  readonly kind: "native" | "node";
  /** Listens on 127.0.0.1 and returns the port. */
  listen(port: number, handlers: Handlers): Promise<number>;
  connect(port: number, handlers: Handlers): Connection;
  /** Handles sockets and calls `tick` at least every `tickMs` until it returns false. */
  run(tickMs: number, tick: () => boolean): Promise<void>;
}

/** Milliseconds of CLOCK_MONOTONIC: comparable between processes of one machine. */
export function monotonicMs(): number {
  return performance.now() + originMs;
}

const originMs = measuredOrigin();

/**
 * Start of `performance.now()` on CLOCK_MONOTONIC. The closest of several pairs of readings counts.
 */
function measuredOrigin(): number {
  let shortestMs = Infinity;
  let origin = 0;
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const beforeMs = performance.now();
    const clockMs = Number(process.hrtime.bigint()) / 1e6;
    const betweenMs = performance.now() - beforeMs;
    if (betweenMs >= shortestMs) continue;
    shortestMs = betweenMs;
    origin = clockMs - beforeMs - betweenMs / 2;
  }
  return origin;
}

/** Opens native sockets if they work, and sockets of node:net otherwise. */
export async function openSockets(): Promise<Sockets> {
  if (process.platform === "linux" && process.env["HEADROOM_BENCH_SOCKETS"] !== "node") {
    try {
      const { NativeSockets } = await import("./native.ts");
      return new NativeSockets();
    } catch {
      // Without node:ffi (other builds, other architectures), the portable sockets do the same, but more slowly.
    }
  }
  const { NodeSockets } = await import("./portable.ts");
  return new NodeSockets();
}
