/**
 * Parts that the gateway's benchmarks share: gateway processes, a fast mock upstream in the benchmark's own process,
 * and clients on bare sockets.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { monotonicMs } from "./loop-watch.ts";

const root = path.resolve(import.meta.dirname, "..", "..", "..");

export interface MockRequest {
  readonly mode: "whole" | "stream" | "hang";
  readonly tokens: number;
  readonly everyMs: number;
  /** Id that the client chose, so that the request can be found again. */
  readonly id: number;
}

export interface SeenRequest {
  readonly requestId: string;
  readonly arrivedAtMs: number;
  sentTokens: number;
  /** Time at which the gateway closed the connection before the response was complete. */
  closedAtMs: number | undefined;
}

/**
 * A mock upstream. The `mock` field of a request's body selects the answer. The mock counts the tokens that it sent.
 */
export class FastUpstream {
  readonly #server: Server;
  readonly seen = new Map<number, SeenRequest>();
  readonly arrivals: number[] = [];
  onArrived: (id: number, request: SeenRequest) => void = () => undefined;
  onClosed: (id: number, request: SeenRequest) => void = () => undefined;
  keepsSeen = true;

  constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => this.#serve(socket));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
  }

  #serve(socket: Socket): void {
    let pending: Buffer = Buffer.alloc(0);
    let current: { readonly id: number; readonly request: SeenRequest; timer: NodeJS.Timeout | undefined } | undefined;
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (current === undefined) return;
      clearTimeout(current.timer);
      current.request.closedAtMs = monotonicMs();
      this.onClosed(current.id, current.request);
    });
    socket.on("data", (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      for (;;) {
        const end = pending.indexOf("\r\n\r\n");
        if (end < 0) return;
        const head = pending.toString("latin1", 0, end);
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (pending.length < end + 4 + length) return;
        const body = pending.toString("utf8", end + 4, end + 4 + length);
        pending = pending.subarray(end + 4 + length);
        if (head.startsWith("GET")) {
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
          continue;
        }
        const mock = (JSON.parse(body) as { mock: MockRequest }).mock;
        const request: SeenRequest = {
          requestId: /x-request-id: (\S+)/i.exec(head)?.[1] ?? "",
          arrivedAtMs: monotonicMs(),
          sentTokens: 0,
          closedAtMs: undefined,
        };
        if (this.keepsSeen) {
          this.seen.set(mock.id, request);
          this.arrivals.push(request.arrivedAtMs);
        }
        current = { id: mock.id, request, timer: undefined };
        this.onArrived(mock.id, request);
        this.#answer(socket, mock, current, () => (current = undefined));
      }
    });
  }

  #answer(
    socket: Socket,
    mock: MockRequest,
    current: { request: SeenRequest; timer: NodeJS.Timeout | undefined },
    done: () => void,
  ): void {
    const { mode, tokens, everyMs } = mock;
    if (mode === "hang") return;
    if (mode === "whole") {
      const answer = `{"id":"a","choices":[{"message":{"role":"assistant","content":"ok"}}],"usage":{"prompt_tokens":10,"completion_tokens":${tokens}}}`;
      current.request.sentTokens = tokens;
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`,
      );
      done();
      return;
    }
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
    const send = (data: string): void => {
      const event = `data: ${data}\n\n`;
      socket.write(`${event.length.toString(16)}\r\n${event}\r\n`);
    };
    let sent = 0;
    const step = (): void => {
      if (sent < tokens) {
        send(`{"id":"a","choices":[{"index":0,"delta":{"content":"t${sent} "}}]}`);
        sent++;
        current.request.sentTokens = sent;
        current.timer = setTimeout(step, everyMs);
        return;
      }
      send(`{"id":"a","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":${sent}}}`);
      send("[DONE]");
      socket.write("0\r\n\r\n");
      done();
    };
    current.timer = setTimeout(step, everyMs);
  }
}

export interface GatewayProcess {
  readonly url: string;
  readonly adminUrl: string;
  readonly pid: number;
  readonly child: ChildProcess;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export function temporaryFolder(): { readonly path: string; remove(): void } {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-gateway-bench-"));
  return { path: folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** With `lateFile`, the process writes there when its event loop was late (`loop-watch.ts`). */
export async function startProcess(
  folder: string,
  yaml: string,
  id: string,
  args: readonly string[] = [],
  lateFile = "",
): Promise<GatewayProcess> {
  const file = path.join(folder, `${id}.yaml`);
  writeFileSync(file, `id: ${id}\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstate: ${folder}/state\n${yaml}`);
  const watch = lateFile === "" ? [] : ["--import", path.join(import.meta.dirname, "loop-watch.ts")];
  const child = spawn(
    process.execPath,
    [...watch, path.join(root, "packages/cli/src/main.ts"), "gateway", "--config", file, ...args],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: lateFile === "" ? process.env : { ...process.env, HEADROOM_BENCH_LATE: lateFile },
    },
  );
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const line = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      if (text.includes("\n")) resolve(text);
    });
    child.once("exit", (code) => reject(new Error(`the gateway ended with code ${code}`)));
  });
  const [url, adminUrl] = [...line.matchAll(/http:\/\/[\d.:]+/g)].map(([found]) => found);
  return {
    url: url!,
    adminUrl: adminUrl!,
    pid: child.pid!,
    child,
    kill: () => {
      child.kill("SIGKILL");
      return ended;
    },
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

export function requestBytes(mock: MockRequest, key = ""): string {
  const body = JSON.stringify({
    model: "m",
    stream: mock.mode !== "whole",
    max_tokens: 20,
    messages: [{ role: "user", content: "x".repeat(60) }],
    mock,
  });
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

export function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.once("connect", () => resolve(socket));
    // After the connection is open, every error is followed by `close`, so it needs no handler of its own.
    socket.on("error", reject);
  });
}

export interface ClientAnswer {
  readonly status: number;
  readonly requestId: string;
  /** Number of output tokens that the client received: the reported number, or else the number of events. */
  readonly tokens: number;
}

/**
 * Sends one request on an open connection. Returns undefined if the connection ended before the response was complete.
 */
export function ask(socket: Socket, bytes: string): Promise<ClientAnswer | undefined> {
  return new Promise((resolve) => {
    let text = "";
    const finish = (answer: ClientAnswer | undefined): void => {
      socket.off("data", onData);
      socket.off("close", onClose);
      resolve(answer);
    };
    const onClose = (): void => finish(undefined);
    const onData = (chunk: Buffer): void => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = text.slice(0, end);
      const isChunked = /transfer-encoding: chunked/i.test(head);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (isChunked ? !text.endsWith("\r\n0\r\n\r\n") : text.length < end + 4 + length) return;
      const reported = /"completion_tokens":(\d+)/.exec(text)?.[1];
      finish({
        status: Number(text.slice(9, 12)),
        requestId: /x-request-id: (\S+)/i.exec(head)?.[1] ?? "",
        tokens: reported === undefined ? text.split('"content":"t').length - 1 : Number(reported),
      });
    };
    socket.on("data", onData);
    socket.on("close", onClose);
    socket.write(bytes);
  });
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Resident memory of a process in MiB. */
export function residentMib(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}

/** Reads a number such as `--count 100` from the command line. */
export function numberArgument(name: string, otherwise: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

export function report(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Ends the benchmark with exit code 1 and a sentence if its bar was missed. For bars that hold on a machine of any speed. */
export function bar(isKept: boolean, missed: string): void {
  if (isKept) return;
  report(`MISSED: ${missed}`);
  process.exitCode = 1;
}

/**
 * The same for a bar in milliseconds or MiB. With `--report-only` a miss is reported and changes nothing else: on a machine with
 * other load, or in a short run, such a bar measures the load or the warm-up.
 */
export function measuredBar(isKept: boolean, missed: string): void {
  if (!process.argv.includes("--report-only")) bar(isKept, missed);
  else if (!isKept) report(`MISSED (report only): ${missed}`);
}
