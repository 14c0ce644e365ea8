// The gang: workers find each other by the torchrun variables and sum vectors over TCP. Rank 0 listens on
// MASTER_ADDR:MASTER_PORT and sums in rank order, so that equal inputs give equal bits.
import net from "node:net";
import { setTimeout as delay } from "node:timers/promises";
const { MASTER_ADDR: host, MASTER_PORT: port, HEADROOM_ATTEMPT_ID: attempt, QUICKSTART_PATIENCE_MS } = process.env;
export const [rank, world] = [Number(process.env.RANK ?? 0), Number(process.env.WORLD_SIZE ?? 1)];
const PATIENCE_MS = Number(QUICKSTART_PATIENCE_MS ?? 60_000); // Time in ms to wait for all workers. An incomplete gang exits, and the control plane restarts it.
const RETRY_MS = 100; // Time in ms to retry: a killed rank 0 leaves its port busy for a moment, and a peer can start before rank 0 does.
const SILENCE_MS = 60_000; // Time in ms after which a peer that does not answer (lost machine, stopped process) is treated as dead.
const bytesOf = (vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
const vectorOf = (bytes) => new Float32Array(new Uint8Array(bytes).buffer);

async function* frames(socket) {
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket) {
    bytes = Buffer.concat([bytes, chunk]);
    for (let end; (end = bytes.length < 4 ? Infinity : 4 + bytes.readUInt32LE(0)) <= bytes.length;) {
      yield bytes.subarray(4, end);
      bytes = bytes.subarray(end);
    }
  }
  throw new Error("a peer is gone");
}

/** Length-prefixed frames over a socket. Receiving from a peer that died throws at once. */
function connection(socket) {
  const inbox = frames(socket);
  socket.setNoDelay(true).setTimeout(SILENCE_MS, () => socket.destroy());
  socket.on("error", () => {}); // the next call to receive throws this error
  const send = (bytes) => socket.write(Buffer.concat([bytesOf(Uint32Array.of(bytes.length)), bytes]));
  return { socket, send, receive: async () => (await inbox.next()).value };
}

/** Rank 0: waits until every other rank of this attempt is connected. A worker of another attempt is rejected. */
function gather() {
  const awaited = new Set(Array.from({ length: world - 1 }, (_, i) => `${i + 1} ${world} ${attempt}`));
  const peers = [];
  const server = net.createServer(async (socket) => {
    const peer = connection(socket);
    const hello = String(await peer.receive().catch(() => "silence"));
    if (!awaited.delete(hello)) return socket.destroy(console.error(`turned away "${hello}" from attempt ${attempt}`));
    peers[Number.parseInt(hello, 10) - 1] = peer;
    peer.send(Buffer.from("welcome"));
    if (awaited.size === 0) server.close().emit("complete");
  });
  server.on("error", (error) => {
    if (error.code !== "EADDRINUSE") throw error;
    setTimeout(() => server.listen(port, host), RETRY_MS);
  });
  return new Promise((resolve) => server.listen(port, host).on("complete", () => resolve(peers)));
}

/**
 * Connects every other rank: retries until rank 0 of the same attempt listens. A terminating gang may still use the
 * port.
 */
async function join() {
  for (; ; await delay(RETRY_MS)) {
    const peer = connection(net.connect(port, host));
    peer.send(Buffer.from(`${rank} ${world} ${attempt}`));
    if (String(await peer.receive().catch(() => "refused")) === "welcome") return [peer];
  }
}

/** Connects the gang. If a member is missing, all others exit, and the control plane restarts the gang. */
export async function assemble(giveUp) {
  const patience = setTimeout(giveUp, PATIENCE_MS, new Error("the gang is incomplete"));
  const peers = world === 1 ? [] : await (rank === 0 ? gather() : join());
  clearTimeout(patience);
  /** Broadcasts the bytes of rank 0 to every rank. */
  const share = async (bytes) => {
    if (rank > 0) return peers[0].receive();
    for (const peer of peers) peer.send(bytes);
    return bytes;
  };
  /** All-reduce: the sum of all ranks' vectors, with the same bits on every rank. */
  const sum = async (vector) => {
    if (rank > 0) peers[0].send(bytesOf(vector));
    for (const bytes of rank > 0 ? [] : await Promise.all(peers.map((peer) => peer.receive())))
      vectorOf(bytes).forEach((value, i) => (vector[i] += value));
    return vectorOf(await share(bytesOf(vector)));
  };
  return { share, sum, leave: () => peers.forEach((peer) => peer.socket.destroySoon()) };
}
