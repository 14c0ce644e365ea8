/**
 * Sends the ranged reads of an S3 client over connections of their own (`range-connection.ts`), and every other request, and reads
 * whose answers have no plain length, through the handler of the SDK. Signatures and errors stay those of the SDK.
 */
import { Readable } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import { RangeConnection } from "./range-connection.ts";
import type { ConnectionTarget, RangeHead } from "./range-connection.ts";

type Handler = S3Client["config"]["requestHandler"];
type HttpRequest = Parameters<Handler["handle"]>[0];
interface HandlerOptions {
  readonly abortSignal?: unknown;
}
type Handled = Awaited<ReturnType<Handler["handle"]>>;

/** Servers close idle connections after some seconds; a request on a closed one is repeated. */
const IDLE_MS = 4_000;
/** Answers without a plain length in a row after which a server is left to the SDK for a while: each of them is asked for twice. */
const UNUSUAL_MAX = 3;
const UNUSUAL_MS = 300_000;
const ERROR_BYTES_MAX = 64 * 1024;
const PLAIN_QUERY = /^[\w.-]*$/;

export interface RangeTimeouts {
  readonly connectTimeoutMs: number;
  readonly silenceMs: number;
}

/** A body that is read in batches. As a stream it is empty. */
export class RangeBody extends Readable {
  readonly #connection: RangeConnection;
  /** Called once; true: the whole body was taken. */
  #release: (isWhole: boolean) => void;
  #left: number;

  constructor(connection: RangeConnection, bytes: number, release: (isWhole: boolean) => void) {
    super({ read: () => {} });
    this.#connection = connection;
    this.#left = bytes;
    this.#release = release;
  }

  async *batches(): AsyncGenerator<readonly Uint8Array[]> {
    try {
      while (this.#left > 0) {
        const pieces = await this.#connection.next(this.#left);
        this.#left -= pieces.reduce((sum, { length }) => sum + length, 0);
        yield pieces;
      }
    } finally {
      this.destroy();
    }
  }

  override _destroy(_error: Error | null, callback: (error?: Error | null) => void): void {
    this.#release(this.#left === 0);
    this.#release = () => {};
    callback(null);
  }
}

export class RangeHandler {
  readonly #usual: Handler;
  readonly #timeouts: RangeTimeouts;
  /** Idle connections by scheme, host and port, the last used last. */
  readonly #idle = new Map<string, RangeConnection[]>();
  /** Answers without a plain length since the last usual one, by the same keys, and the time of the newest. */
  readonly #unusual = new Map<string, { readonly count: number; readonly atMs: number }>();

  constructor(usual: Handler, timeouts: RangeTimeouts) {
    this.#usual = usual;
    this.#timeouts = timeouts;
  }

  /** Puts the handler in the place of that of the client. */
  static install(client: S3Client, timeouts: RangeTimeouts): RangeHandler {
    const { requestHandler } = client.config;
    const ranges = new RangeHandler(requestHandler, timeouts);
    client.config.requestHandler = new Proxy(requestHandler, {
      get: (target, name) => (name === "handle" ? ranges.handle : (Reflect.get(target, name) as unknown)),
    });
    return ranges;
  }

  readonly handle = async (request: HttpRequest, options?: HandlerOptions): Promise<Handled> => {
    const text = requestText(request);
    const answer =
      text === null ? null : await this.#read(text, request, options?.abortSignal as AbortSignal | undefined);
    return answer ?? this.#usual.handle(request, options);
  };

  close(): void {
    for (const connections of this.#idle.values()) for (const each of connections) each.destroy();
    this.#idle.clear();
  }

  /** `null`: the answer has no plain length. */
  async #read(text: string, request: HttpRequest, signal: AbortSignal | undefined): Promise<Handled | null> {
    signal?.throwIfAborted();
    const target = targetOf(request, this.#timeouts);
    const key = `${target.isTls} ${target.host} ${target.port}`;
    const { count, atMs } = this.#unusual.get(key) ?? { count: 0, atMs: 0 };
    if (count >= UNUSUAL_MAX && performance.now() - atMs < UNUSUAL_MS) return null;
    const { connection, head } = await this.#ask(key, target, text, signal);
    if (head === null) {
      this.#unusual.set(key, { count: count + 1, atMs: performance.now() });
      connection.destroy();
      return null;
    }
    this.#unusual.delete(key);
    const end = (): void => connection.destroy(signal?.reason as Error | undefined);
    signal?.addEventListener("abort", end, { once: true });
    const release = (isWhole: boolean): void => {
      signal?.removeEventListener("abort", end);
      const isKept = isWhole && head.headers["connection"]?.toLowerCase() !== "close" && connection.rest(IDLE_MS);
      if (isKept) this.#idle.set(key, [...(this.#idle.get(key) ?? []).filter(({ isOpen }) => isOpen), connection]);
      else connection.destroy();
    };
    const body = new RangeBody(connection, head.bytes, release);
    if (head.status < 300) return { response: responseOf(head, body) };
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const batch of body.batches()) {
      pieces.push(...batch.map((piece) => Buffer.from(piece)));
      bytes += batch.reduce((sum, { length }) => sum + length, 0);
      if (bytes > ERROR_BYTES_MAX) break;
    }
    return { response: responseOf(head, Readable.from([Buffer.concat(pieces)])) };
  }

  /** A connection that was idle may have been closed by the server meanwhile, so its failure is followed by a new one. */
  async #ask(
    key: string,
    target: ConnectionTarget,
    text: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly connection: RangeConnection; readonly head: RangeHead | null }> {
    const open = (this.#idle.get(key) ?? []).filter(({ isOpen }) => isOpen);
    const idle = open.pop();
    this.#idle.set(key, open);
    if (idle !== undefined)
      try {
        return { connection: idle, head: await requestOn(idle, text, signal) };
      } catch (error) {
        idle.destroy();
        signal?.throwIfAborted();
        const { code } = error as NodeJS.ErrnoException;
        if (code !== "ECONNRESET" && code !== "EPIPE") throw error;
      }
    const connection = await RangeConnection.open(target);
    try {
      // It may have been aborted meanwhile, and then no listener is called.
      signal?.throwIfAborted();
      return { connection, head: await requestOn(connection, text, signal) };
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }
}

async function requestOn(
  connection: RangeConnection,
  text: string,
  signal: AbortSignal | undefined,
): Promise<RangeHead | null> {
  const end = (): void => connection.destroy(signal?.reason as Error | undefined);
  signal?.addEventListener("abort", end, { once: true });
  try {
    return await connection.request(text);
  } finally {
    signal?.removeEventListener("abort", end);
  }
}

/** The request as HTTP/1.1; `null`: it is no ranged read, or has parts that need more than plain text. */
function requestText({ method, path, query = {}, headers }: HttpRequest): string | null {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
  if (method !== "GET" || !lines.some((line) => /^range:/i.test(line))) return null;
  const pairs = Object.entries(query);
  if (pairs.some(([name, value]) => !PLAIN_QUERY.test(name) || typeof value !== "string" || !PLAIN_QUERY.test(value)))
    return null;
  const target = `${path}${pairs.length === 0 ? "" : `?${pairs.map(([name, value]) => `${name}=${String(value)}`).join("&")}`}`;
  if (!/^\/[\x21-\x7e]*$/.test(target) || !lines.every((line) => /^[\x20-\x7e]*$/.test(line))) return null;
  return `GET ${target} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
}

const targetOf = ({ protocol, hostname, port }: HttpRequest, timeouts: RangeTimeouts): ConnectionTarget => {
  const isTls = protocol === "https:";
  return { ...timeouts, isTls, host: hostname.replace(/^\[|\]$/g, ""), port: port ?? (isTls ? 443 : 80) };
};

const responseOf = ({ status, headers }: RangeHead, body: Readable): Handled["response"] =>
  ({ statusCode: status, headers, body }) as Handled["response"];
