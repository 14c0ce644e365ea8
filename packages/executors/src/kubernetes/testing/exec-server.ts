/**
 * Serves `/exec/NAMESPACE/POD/CONTAINER` as a kubelet does for an API server: a WebSocket with the protocol v4.channel.k8s.io, without a
 * terminal. Frames are read whole; a test sends small ones (RFC 6455, section 5.2).
 */
import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

const PROTOCOL = "v4.channel.k8s.io";
/** RFC 6455, section 1.3. */
const KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [TEXT, BINARY, CLOSE] = [1, 2, 8];

/** `run`: starts the command in the container; `null`: there is no such container. */
export function serveExec(
  request: IncomingMessage,
  socket: Duplex,
  run: (container: string, command: readonly string[]) => ChildProcess | null,
): void {
  const url = new URL(request.url ?? "/", "https://kubelet");
  const [, , namespace = "", pod = ""] = url.pathname.split("/");
  const child = run(`${namespace}/${pod}`, url.searchParams.getAll("command"));
  if (child === null) {
    socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
    return;
  }
  const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${KEY_SUFFIX}`).digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  socket.write(
    [...head, `Sec-WebSocket-Accept: ${accept}`, `Sec-WebSocket-Protocol: ${PROTOCOL}`, "", ""].join("\r\n"),
  );
  const send = (channel: number, data: Buffer): void =>
    void socket.write(frameOf(BINARY, Buffer.concat([Buffer.of(channel), data])));
  child.stdout?.on("data", (data: Buffer) => send(1, data));
  child.stderr?.on("data", (data: Buffer) => send(2, data));
  child.once("close", (code) => {
    const causes = [{ reason: "ExitCode", message: String(code ?? 137) }];
    const failure = { status: "Failure", reason: "NonZeroExitCode", details: { causes } };
    send(3, Buffer.from(JSON.stringify(code === 0 ? { status: "Success" } : failure)));
    socket.end(frameOf(CLOSE, Buffer.alloc(0)));
  });
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (data: Buffer) => {
    rest = Buffer.concat([rest, data]);
    for (let frame = readFrame(rest); frame !== null; frame = readFrame(rest)) {
      rest = rest.subarray(frame.length);
      if (frame.opcode === CLOSE) socket.end();
      else if (frame.opcode === BINARY || frame.opcode === TEXT)
        if (frame.payload[0] === 0) child.stdin?.write(frame.payload.subarray(1));
    }
  });
  socket.on("error", () => child.kill("SIGKILL"));
}

function frameOf(opcode: number, payload: Buffer): Buffer {
  const head =
    payload.length < 126
      ? Buffer.of(0x80 | opcode, payload.length)
      : Buffer.of(0x80 | opcode, 126, payload.length >> 8, payload.length & 0xff);
  return Buffer.concat([head, payload]);
}

interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
  /** Bytes of the whole frame. */
  readonly length: number;
}

function readFrame(data: Buffer): Frame | null {
  if (data.length < 6) return null;
  const short = (data[1] ?? 0) & 0x7f;
  const start = short === 126 ? 4 : 2;
  const size = short === 126 ? data.readUInt16BE(2) : short;
  const length = start + 4 + size;
  if (data.length < length) return null;
  const mask = data.subarray(start, start + 4);
  const payload = data.subarray(start + 4, length).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return { opcode: (data[0] ?? 0) & 0x0f, payload: Buffer.from(payload), length };
}
