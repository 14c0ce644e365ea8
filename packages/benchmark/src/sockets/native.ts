import ffi from "node:ffi";
import type { Connection, Handlers, Sockets } from "./sockets.ts";

// <bits/socket.h>, <sys/epoll.h>, <asm-generic/socket.h> of Linux on x86-64 and arm64.
const AF_INET = 2;
const SOCK_STREAM_NONBLOCK = 1 | 0x800;
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const EPOLL_ADD = 1;
const EPOLL_MOD = 3;
const EPOLLIN = 1;
const EPOLLOUT = 4;
const EPOLLERR_OR_HUP = 0x18;
const MSG_NOSIGNAL = 0x4000;
/** struct epoll_event is packed on x86-64 only. */
const EVENT_BYTES = process.arch === "x64" ? 12 : 16;
const EVENT_DATA = process.arch === "x64" ? 4 : 8;
const MAX_EVENTS = 256;
const RECEIVE_BYTES = 262_144;

const { functions: libc } = ffi.dlopen("libc.so.6", {
  socket: { arguments: ["i32", "i32", "i32"], return: "i32" },
  bind: { arguments: ["i32", "buffer", "u32"], return: "i32" },
  listen: { arguments: ["i32", "i32"], return: "i32" },
  accept4: { arguments: ["i32", "u64", "u64", "i32"], return: "i32" },
  connect: { arguments: ["i32", "buffer", "u32"], return: "i32" },
  getsockname: { arguments: ["i32", "buffer", "buffer"], return: "i32" },
  setsockopt: { arguments: ["i32", "i32", "i32", "buffer", "u32"], return: "i32" },
  send: { arguments: ["i32", "buffer", "u64", "i32"], return: "i64" },
  recv: { arguments: ["i32", "buffer", "u64", "i32"], return: "i64" },
  close: { arguments: ["i32"], return: "i32" },
  epoll_create1: { arguments: ["i32"], return: "i32" },
  epoll_ctl: { arguments: ["i32", "i32", "i32", "buffer"], return: "i32" },
  epoll_wait: { arguments: ["i32", "buffer", "i32", "i32"], return: "i32" },
});

function checked(result: number, call: string): number {
  if (result < 0) throw new Error(`${call} failed`);
  return result;
}

/** struct sockaddr_in for 127.0.0.1. */
function loopback(port: number): Buffer {
  const address = Buffer.allocUnsafeSlow(128).fill(0);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(port, 2);
  address.writeUInt32BE(0x7f00_0001, 4);
  return address;
}

const one = Buffer.allocUnsafeSlow(128).fill(0);
one.writeInt32LE(1, 0);

class NativeConnection implements Connection {
  state: unknown;
  isOpen = true;
  readonly descriptor: number;
  readonly handlers: Handlers;
  isConnecting: boolean;
  readonly #sockets: NativeSockets;
  #pending: Buffer[] = [];

  constructor(sockets: NativeSockets, descriptor: number, handlers: Handlers, isConnecting: boolean) {
    this.#sockets = sockets;
    this.descriptor = descriptor;
    this.handlers = handlers;
    this.isConnecting = isConnecting;
  }

  write(bytes: Buffer): void {
    if (!this.isOpen) return;
    if (this.isConnecting || this.#pending.length > 0) {
      this.#pending.push(bytes);
      return;
    }
    const sent = this.#send(bytes);
    if (sent === bytes.length) return;
    this.#pending.push(bytes.subarray(sent));
    this.#sockets.interest(this.descriptor, EPOLLIN | EPOLLOUT);
  }

  /** Called when the socket accepts more bytes. Sends the waiting ones. */
  drain(): void {
    while (this.#pending.length > 0) {
      const [bytes] = this.#pending as [Buffer];
      const sent = this.#send(bytes);
      if (sent < bytes.length) {
        this.#pending[0] = bytes.subarray(sent);
        return;
      }
      this.#pending.shift();
    }
    this.#sockets.interest(this.descriptor, EPOLLIN);
  }

  /**
   * Returns the number of bytes sent, or 0 if the socket is full. Errors appear as EPOLLERR or EPOLLHUP at the next
   * wait.
   */
  #send(bytes: Buffer): number {
    const sent = libc.send(this.descriptor, bytes, BigInt(bytes.length), MSG_NOSIGNAL);
    return sent < 0n ? 0 : Number(sent);
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#pending = [];
    this.#sockets.forget(this.descriptor);
    libc.close(this.descriptor);
  }
}

export class NativeSockets implements Sockets {
  readonly kind = "native";
  readonly #epoll: number = checked(libc.epoll_create1(0), "epoll_create1");
  readonly #events: Buffer = Buffer.allocUnsafeSlow(MAX_EVENTS * EVENT_BYTES);
  readonly #event: Buffer = Buffer.allocUnsafeSlow(128).fill(0);
  readonly #received: Buffer = Buffer.allocUnsafeSlow(RECEIVE_BYTES);
  readonly #receiveLength = BigInt(RECEIVE_BYTES);
  readonly #listeners = new Map<number, Handlers>();
  readonly #connections: (NativeConnection | undefined)[] = [];

  listen(port: number, handlers: Handlers): Promise<number> {
    const descriptor = checked(libc.socket(AF_INET, SOCK_STREAM_NONBLOCK, 0), "socket");
    libc.setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, one, 4);
    const address = loopback(port);
    if (libc.bind(descriptor, address, 16) < 0) throw new Error(`port ${port} is taken: choose another one`);
    checked(libc.listen(descriptor, 4096), "listen");
    const length = Buffer.allocUnsafeSlow(128);
    length.writeUInt32LE(16, 0);
    checked(libc.getsockname(descriptor, address, length), "getsockname");
    this.#listeners.set(descriptor, handlers);
    this.#control(EPOLL_ADD, descriptor, EPOLLIN);
    return Promise.resolve(address.readUInt16BE(2));
  }

  connect(port: number, handlers: Handlers): Connection {
    const descriptor = checked(libc.socket(AF_INET, SOCK_STREAM_NONBLOCK, 0), "socket");
    libc.setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, one, 4);
    // Returns EINPROGRESS. The result appears later as EPOLLOUT or EPOLLERR.
    libc.connect(descriptor, loopback(port), 16);
    const connection = new NativeConnection(this, descriptor, handlers, true);
    this.#connections[descriptor] = connection;
    this.#control(EPOLL_ADD, descriptor, EPOLLOUT);
    return connection;
  }

  run(tickMs: number, tick: () => boolean): Promise<void> {
    const events = this.#events;
    while (tick()) {
      const count = libc.epoll_wait(this.#epoll, events, MAX_EVENTS, tickMs);
      for (let index = 0; index < count; index += 1) {
        const at = index * EVENT_BYTES;
        this.#handle(events.readInt32LE(at + EVENT_DATA), events.readUInt32LE(at));
      }
    }
    return Promise.resolve();
  }

  #handle(descriptor: number, flags: number): void {
    const connection = this.#connections[descriptor];
    if (connection === undefined) {
      const handlers = this.#listeners.get(descriptor);
      if (handlers !== undefined) this.#accept(descriptor, handlers);
      return;
    }
    if ((flags & EPOLLOUT) !== 0 && (flags & EPOLLERR_OR_HUP) === 0) {
      if (connection.isConnecting) {
        connection.isConnecting = false;
        connection.handlers.opened(connection);
      }
      if (connection.isOpen) connection.drain();
    }
    if ((flags & (EPOLLIN | EPOLLERR_OR_HUP)) !== 0 && connection.isOpen) this.#receive(connection, flags);
  }

  #receive(connection: NativeConnection, flags: number): void {
    const received = Number(libc.recv(connection.descriptor, this.#received, this.#receiveLength, 0));
    if (received > 0) {
      connection.handlers.received(connection, this.#received.subarray(0, received));
      return;
    }
    // A negative result without an error flag is EAGAIN.
    if (received < 0 && (flags & EPOLLERR_OR_HUP) === 0) return;
    connection.close();
    connection.handlers.closed(connection);
  }

  #accept(listener: number, handlers: Handlers): void {
    for (;;) {
      const descriptor = libc.accept4(listener, 0n, 0n, 0x800);
      if (descriptor < 0) return;
      libc.setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, one, 4);
      const connection = new NativeConnection(this, descriptor, handlers, false);
      this.#connections[descriptor] = connection;
      this.#control(EPOLL_ADD, descriptor, EPOLLIN);
      handlers.opened(connection);
    }
  }

  interest(descriptor: number, flags: number): void {
    this.#control(EPOLL_MOD, descriptor, flags);
  }

  forget(descriptor: number): void {
    this.#connections[descriptor] = undefined;
  }

  #control(operation: number, descriptor: number, flags: number): void {
    this.#event.writeUInt32LE(flags, 0);
    this.#event.writeInt32LE(descriptor, EVENT_DATA);
    checked(libc.epoll_ctl(this.#epoll, operation, descriptor, this.#event), "epoll_ctl");
  }
}
