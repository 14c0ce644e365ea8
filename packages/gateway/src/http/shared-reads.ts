/**
 * Lets all sockets read into one buffer of the process. Otherwise Node allocates 64 KiB for each read, which V8 counts
 * as external memory and frees on other threads. Node offers shared buffers (`onread`) for sockets that it connects,
 * but not for sockets that a server accepts. Accepted sockets therefore get their connection through the handle, which
 * is not a documented interface. Without such a handle, or with TLS, the socket is used unchanged and allocates a
 * buffer for each read.
 */
import { Socket, type OnReadOpts } from "node:net";

/** The size that libuv suggests for a read. */
const READ_BYTES = 65_536;

/** The shared buffer. Its content is valid until the next read of any socket; bytes that are kept must be copied. */
const shared: Buffer = Buffer.allocUnsafeSlow(READ_BYTES);

interface HandleOwner {
  _handle?: { useUserBuffer?: unknown } | null;
  /** The server that counts the socket among its open connections. */
  _server?: unknown;
}

export interface ReadingSocket {
  readonly socket: Socket;
  readonly isShared: boolean;
}

/** The `onread` option of a socket that connects. `onBytes` gets bytes that the next read of any socket overwrites. */
export function sharedReads(onBytes: (bytes: Buffer) => void): OnReadOpts {
  return {
    buffer: shared,
    callback: (count) => {
      onBytes(shared.subarray(0, count));
      return true;
    },
  };
}

/** `accepted` comes from a server with `pauseOnConnect`, so nothing has been read from it. */
export function withSharedReads(accepted: Socket, onBytes: (bytes: Buffer) => void): ReadingSocket {
  const owner = accepted as Socket & HandleOwner;
  const handle = owner._handle;
  if (accepted.constructor !== Socket || typeof handle?.useUserBuffer !== "function") {
    accepted.on("data", onBytes);
    accepted.resume();
    return { socket: accepted, isShared: false };
  }
  const options = { handle, readable: true, writable: true, onread: sharedReads(onBytes) };
  const socket = new Socket(options as unknown as ConstructorParameters<typeof Socket>[0]);
  // The handle has one owner, so the accepted socket must not close it.
  owner._handle = null;
  (socket as Socket & HandleOwner)._server = owner._server;
  socket.resume();
  return { socket, isShared: true };
}

/** A copy of bytes that are in the shared read buffer, or are a small part of another read. Others are returned. */
export function kept(bytes: Buffer): Buffer {
  const { byteLength } = bytes.buffer;
  if (bytes.buffer === shared.buffer) return Buffer.from(bytes);
  if (byteLength <= Buffer.poolSize || 2 * bytes.length >= byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
