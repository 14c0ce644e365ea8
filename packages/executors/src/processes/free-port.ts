/** Chooses ports of an attempt's workers: for their rendezvous (`MASTER_PORT`) and for the server of a replica (`PORT`). */
import { createServer } from "node:net";
import { reservePort } from "./port-reservations.ts";

/**
 * First port of the range. It is above the registered services and below the ports that Linux uses for outgoing
 * connections (32768 and up, ip(7)), so that no connection takes the port before rank 0 binds it.
 */
const FIRST_PORT = 20_000;
const PORT_COUNT = 12_000;
const TRIES_MAX = 200;

/**
 * Attempts begin the search at different ports, so that two attempts that start together do not choose the same port.
 * `other`: a port that is chosen already and not bound yet.
 */
export async function chooseFreePort(attemptId: string, other?: number): Promise<number> {
  const start = spread(attemptId) % PORT_COUNT;
  for (let step = 0; step < TRIES_MAX; step++) {
    const port = FIRST_PORT + ((start + step) % PORT_COUNT);
    // A port that another supervisor chose is free until its worker binds it, which takes minutes for a large model.
    if (port !== other && (await isFree(port)) && reservePort(port)) return port;
  }
  throw new Error(`no free port in ${TRIES_MAX} tries from ${FIRST_PORT + start}`);
}

/**
 * The FNV-1a hash of id and pid. The pid is included because ids are consecutive, and several home directories on one
 * machine have the same ids.
 */
function spread(attemptId: string): number {
  let hash = 0x811c9dc5;
  for (const character of `${attemptId}\0${process.pid}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return hash;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
