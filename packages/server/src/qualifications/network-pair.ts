/**
 * Throughput and latency of TCP between two nodes. As a program: `network-pair.ts ADDRESS` serves one measurement on the peer and prints
 * where; it ends after the measurement, or after half a minute. One stream: a fast fabric needs the site's own test (`ib_write_bw`, NCCL).
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";

export interface PairAddress {
  readonly host: string;
  readonly port: number;
  /** Hexadecimal digits that the client sends first. */
  readonly token: string;
}

export interface PairFigures {
  readonly gigabytesPerSecond: number;
  /** Median of round trips. */
  readonly roundTripUs: number;
}

const TOKEN_BYTES = 16;
const HEAD_CHARS = 2 * TOKEN_BYTES + 1;
const SERVE_MS = 30_000;
const ANSWER_MS = 10_000;
const MESSAGE = Buffer.alloc(64, 1);
const ROUND_TRIPS = 300;
const CHUNK = Buffer.alloc(1 << 20, 1);
const STREAM_MS = 2_000;
const CONNECTIONS_MAX = 8;

/** Serves until a stream has ended. `told` gets the port and the token. */
export async function servePair(address: string, told: (line: Omit<PairAddress, "host">) => void): Promise<void> {
  const token = randomBytes(TOKEN_BYTES).toString("hex");
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  server.maxConnections = CONNECTIONS_MAX;
  const streamed = new Promise<void>((resolve) => {
    server.on("connection", (socket) => {
      socket.on("error", () => socket.destroy());
      socket.setTimeout(ANSWER_MS, () => socket.destroy());
      void answer(socket, token).then((isStream) => (isStream ? resolve() : undefined));
    });
  });
  server.listen(0, address);
  await once(server, "listening");
  told({ port: (server.address() as { readonly port: number }).port, token });
  await Promise.race([streamed, pause(SERVE_MS)]);
  server.close();
}

/** Answers one connection: `L` echoes, `T` counts. Returns whether it was a stream that ended. */
async function answer(socket: Socket, token: string): Promise<boolean> {
  let head = "";
  let bytes = 0;
  try {
    // The connection stays open for the answer after the client has ended its half.
    for await (const piece of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const rest = Math.max(0, HEAD_CHARS - head.length);
      head += piece.toString("latin1", 0, rest);
      if (head.length < HEAD_CHARS) continue;
      if (head.slice(0, -1) !== token) return (socket.destroy(), false);
      const body = piece.subarray(rest);
      bytes += body.length;
      if (head.endsWith("L") && body.length > 0) socket.write(body);
    }
  } catch {
    return false;
  }
  socket.end(head.endsWith("T") ? `${bytes}\n` : "");
  return head.endsWith("T");
}

/** Throws an error if the peer does not answer in time. */
export async function measurePair(at: PairAddress): Promise<PairFigures> {
  const roundTripUs = await withSocket(at, "L", roundTrips);
  return { roundTripUs, gigabytesPerSecond: await withSocket(at, "T", stream) };
}

async function withSocket(
  { host, port, token }: PairAddress,
  mode: string,
  measure: (socket: Socket) => Promise<number>,
): Promise<number> {
  const socket = connect({ host, port, noDelay: true });
  const late = new AbortController();
  const failed = new Promise<never>((_, reject) => {
    socket.once("error", reject);
    socket.once("close", () => reject(new Error(`${host} closed the connection`)));
    void pause(ANSWER_MS, undefined, { signal: late.signal }).then(
      () => reject(new Error(`${host} does not answer`)),
      () => undefined,
    );
  });
  failed.catch(() => undefined);
  try {
    await Promise.race([once(socket, "connect"), failed]);
    socket.write(`${token}${mode}`);
    return await Promise.race([measure(socket), failed]);
  } finally {
    late.abort();
    socket.destroy();
  }
}

async function roundTrips(socket: Socket): Promise<number> {
  const times: number[] = [];
  let waiting = 0;
  let answered: (() => void) | null = null;
  socket.on("data", (piece: Buffer) => {
    waiting -= piece.length;
    if (waiting <= 0) answered?.();
  });
  for (let trip = 0; trip < ROUND_TRIPS; trip++) {
    const begin = performance.now();
    waiting = MESSAGE.length;
    await new Promise<void>((resolve) => {
      answered = resolve;
      socket.write(MESSAGE);
    });
    times.push(performance.now() - begin);
  }
  const sorted = times.toSorted((left, right) => left - right);
  return 1_000 * (sorted[ROUND_TRIPS >> 1] ?? 0);
}

/** Sends for two seconds. The peer states how much arrived, which ends the measurement. */
async function stream(socket: Socket): Promise<number> {
  const begin = performance.now();
  while (performance.now() - begin < STREAM_MS) if (!socket.write(CHUNK)) await once(socket, "drain");
  socket.end();
  let reply = "";
  for await (const piece of socket as AsyncIterable<Buffer>) reply += piece.toString("latin1");
  const bytes = Number(reply);
  if (!(bytes > 0)) throw new Error("the peer counted nothing");
  return bytes / ((performance.now() - begin) * 1e6);
}

if (process.argv[1] === import.meta.filename)
  await servePair(process.argv[2] ?? "127.0.0.1", (line) => process.stdout.write(`${JSON.stringify(line)}\n`)).then(
    () => process.exit(0),
  );
