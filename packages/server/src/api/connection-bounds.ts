/**
 * Keeps places for clients that authenticate. A connection without an authenticated request is a stranger; when there
 * are too many strangers, the oldest is closed. A client with a token sends its head with the connection and is known
 * long before its turn comes, so connections that are only held open keep nobody out.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Maximum number of connections without an authenticated request. It is larger than the number of connections that the
 * kernel hands over in two turns of the event loop (a backlog of 511), so that a new client is read before it is closed.
 */
const STRANGERS_MAX = 1_024;
/** Maximum number of open sockets. File descriptors are limited, and a console needs only a few. */
const CONNECTIONS_MAX = 4_096;

/** Timeouts of Node's server. A head is small and is sent at once; the default time for it is a minute. */
export const headTimeouts = {
  headersTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
};

export class ConnectionBounds {
  /** Strangers by their address, the oldest first. */
  readonly #strangers = new Map<string, Socket>();

  constructor(server: Server, strangersMax = STRANGERS_MAX) {
    server.maxConnections = CONNECTIONS_MAX;
    server.on("connection", (socket: Socket) => {
      const address = addressOf(socket);
      this.#strangers.set(address, socket);
      socket.once("close", () => {
        if (this.#strangers.get(address) === socket) this.#strangers.delete(address);
      });
      for (const oldest of this.#strangers.values()) {
        if (this.#strangers.size <= strangersMax) break;
        this.#strangers.delete(addressOf(oldest));
        oldest.destroy();
      }
    });
  }

  /** The connection has sent an authenticated request. With TLS, `socket` is another object than that of the event. */
  authenticated(socket: Socket): void {
    this.#strangers.delete(addressOf(socket));
  }
}

/** The client's end of a connection, by which a TLS connection and the connection below it are the same. */
const addressOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
