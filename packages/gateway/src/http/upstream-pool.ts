/**
 * Connections to one replica. They stay open between requests, and their number is limited. The most recently used one
 * is used first.
 */
import { connect as connectTcp, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { sharedReads } from "./shared-reads.ts";
import { UpstreamConnection, type ConnectionOwner } from "./upstream-connection.ts";

export interface UpstreamAddress {
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
}

export class UpstreamPool implements ConnectionOwner {
  readonly #address: UpstreamAddress;
  readonly connectTimeoutMs: number;
  readonly #idleMax: number;
  readonly #idle: UpstreamConnection[] = [];
  readonly #all = new Set<UpstreamConnection>();
  #isClosed = false;

  constructor(address: UpstreamAddress, connectTimeoutMs: number, idleMax: number) {
    this.#address = address;
    this.connectTimeoutMs = connectTimeoutMs;
    this.#idleMax = idleMax;
  }

  get openCount(): number {
    return this.#all.size;
  }

  acquire(isFresh: boolean): UpstreamConnection {
    if (!isFresh) {
      for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) if (last.isUsable) return last;
    }
    const connection = this.#address.isTls ? this.#connectTls() : this.#connectTcp();
    this.#all.add(connection);
    return connection;
  }

  #connectTcp(): UpstreamConnection {
    const { host, port } = this.#address;
    const onread = sharedReads((bytes) => connection.received(Buffer.from(bytes)));
    const socket = connectTcp({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000, onread });
    const connection = new UpstreamConnection(socket, "connect", this);
    return connection;
  }

  #connectTls(): UpstreamConnection {
    const { host, port } = this.#address;
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const socket = connectTls({ host, port, ...servername, ALPNProtocols: ["http/1.1"] }).setNoDelay(true);
    const connection = new UpstreamConnection(socket, "secureConnect", this);
    socket.on("data", (bytes: Buffer) => connection.received(bytes));
    return connection;
  }

  idle(connection: UpstreamConnection): void {
    if (this.#isClosed || this.#idle.length >= this.#idleMax) connection.close();
    else this.#idle.push(connection);
  }

  closed(connection: UpstreamConnection): void {
    this.#all.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  /** Closes idle connections immediately, and connections in use when their responses end. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#idle.splice(0)) connection.close();
  }
}
