import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection, Handlers, Sockets } from "./sockets.ts";

class NodeConnection implements Connection {
  state: unknown;
  isOpen = true;
  readonly #socket: net.Socket;

  constructor(socket: net.Socket, handlers: Handlers) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => {
      if (this.isOpen) handlers.received(this, bytes);
    });
    // A "close" event follows every error.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (!this.isOpen) return;
      this.isOpen = false;
      handlers.closed(this);
    });
  }

  write(bytes: Buffer): void {
    if (this.isOpen) this.#socket.write(bytes);
  }

  close(): void {
    this.isOpen = false;
    this.#socket.destroy();
  }
}

export class NodeSockets implements Sockets {
  readonly kind = "node";

  listen(port: number, handlers: Handlers): Promise<number> {
    const server = net.createServer({ noDelay: true }, (socket) =>
      handlers.opened(new NodeConnection(socket, handlers)),
    );
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", 4096, () => {
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
  }

  connect(port: number, handlers: Handlers): Connection {
    const socket = net.connect({ port, host: "127.0.0.1" });
    const connection = new NodeConnection(socket, handlers);
    socket.once("connect", () => handlers.opened(connection));
    return connection;
  }

  async run(tickMs: number, tick: () => boolean): Promise<void> {
    while (tick()) await sleep(tickMs);
  }
}
