/**
 * Sends the ranged reads of an S3 client through the thread that reads ranges (`range-reader.ts`), and every other request, and reads
 * whose answers have no plain length, through the handler of the SDK. Signatures and errors stay those of the SDK.
 */
import { pipeline, Readable, Transform } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import { OperationalError } from "@headroom/platform";
import type { ConnectionTarget, RangeHead } from "./range-connection.ts";
import { RangeBytes } from "./range-reader.ts";
import type { RangeReader } from "./range-reader.ts";

type Handler = S3Client["config"]["requestHandler"];
type HttpRequest = Parameters<Handler["handle"]>[0];
interface HandlerOptions {
  readonly abortSignal?: unknown;
}
type Handled = Awaited<ReturnType<Handler["handle"]>>;

/** Answers that the SDK reads as a whole: 1,000 keys of 1,024 bytes, each written as six at most. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
/** The SDK reads the bodies of these answers as texts of errors. */
const ERROR_STATUS_MIN = 300;
const PLAIN_QUERY = /^[\w.-]*$/;

export interface RangeTimeouts {
  readonly connectTimeoutMs: number;
  readonly silenceMs: number;
}

/** A body that is copied into a file. As a stream it is empty. */
export class RangeBody extends Readable {
  readonly #bytes: RangeBytes;

  constructor(bytes: RangeBytes) {
    super({ read: () => {} });
    this.#bytes = bytes;
  }

  /** Yields the numbers of bytes that were written. */
  async *copyTo(fd: number, at: number): AsyncGenerator<number> {
    try {
      yield* this.#bytes.copyTo(fd, at);
    } finally {
      this.destroy();
    }
  }

  override _destroy(_error: Error | null, callback: (error?: Error | null) => void): void {
    void this.#bytes.end();
    callback(null);
  }
}

export class RangeHandler {
  readonly #usual: Handler;
  readonly #timeouts: RangeTimeouts;
  readonly #reader: RangeReader;

  constructor(usual: Handler, timeouts: RangeTimeouts, reader: RangeReader) {
    this.#usual = usual;
    this.#timeouts = timeouts;
    this.#reader = reader;
  }

  /** Puts the handler in the place of that of the client. */
  static install(client: S3Client, timeouts: RangeTimeouts, reader: RangeReader): void {
    const { requestHandler } = client.config;
    const ranges = new RangeHandler(requestHandler, timeouts, reader);
    client.config.requestHandler = new Proxy(requestHandler, {
      get: (target, name) => (name === "handle" ? ranges.handle : (Reflect.get(target, name) as unknown)),
    });
  }

  readonly handle = async (request: HttpRequest, options?: HandlerOptions): Promise<Handled> => {
    if (!isRanged(request)) return bounded(await this.#usual.handle(request, options));
    const text = requestText(request);
    if (text === null) return this.#throughSdk(request, options);
    const target = targetOf(request, this.#timeouts);
    const { head, body } = await this.#reader.ask(target, text, options?.abortSignal as AbortSignal | undefined);
    if (head === null) return this.#throughSdk(request, options);
    return { response: responseOf(head, body instanceof RangeBytes ? new RangeBody(body) : Readable.from([body])) };
  };

  /** A ranged read through the handler of the SDK. Its reader bounds the bytes of the range; the SDK reads those of an error. */
  async #throughSdk(request: HttpRequest, options?: HandlerOptions): Promise<Handled> {
    const handled = await this.#usual.handle(request, options);
    return handled.response.statusCode >= ERROR_STATUS_MIN ? bounded(handled) : handled;
  }
}

const isRanged = ({ headers }: HttpRequest): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === "range");

/** The SDK reads a list, or the text of an error, into memory, whatever its size. */
function bounded({ response }: Handled): Handled {
  const { body } = response as { readonly body?: unknown };
  if (!(body instanceof Readable)) return { response };
  let bytes = 0;
  const limit = new Transform({
    transform(data: Buffer, _encoding, callback) {
      bytes += data.length;
      callback(bytes > ANSWER_BYTES_MAX ? tooLong() : null, data);
    },
  });
  pipeline(body, limit, () => {});
  response.body = limit;
  return { response };
}

const tooLong = (): OperationalError =>
  new OperationalError(
    "badObject",
    `The store sent an answer of more than ${ANSWER_BYTES_MAX} bytes. Check its endpoint.`,
  );

/** The request as HTTP/1.1; `null`: it is no ranged read, or has parts that need more than plain text. */
function requestText({ method, path, query = {}, headers }: HttpRequest): string | null {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
  if (method !== "GET") return null;
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
