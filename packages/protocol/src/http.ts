/** Requests of the operations table over HTTP. `fetch` is a parameter, so that this file runs in Node and in browsers. */
import type { z } from "zod";
import type { Abort, CallOptions, CommandOptions } from "./client.ts";
import { linesOf, type ByteStream } from "./ndjson.ts";
import { operations, type Operation } from "./operations.ts";
import { ProblemError, isProblemCode, problem, problemOf, refuse, type ProblemPlace } from "./problems.ts";
import { snapshotHeaders, type Snapshot } from "./snapshot.ts";
import { USER_HEADER } from "./user.ts";

export interface HttpResponse {
  readonly status: number;
  readonly body: ByteStream | null;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

export interface HttpRequest {
  method?: string;
  headers?: unknown;
  body?: unknown;
  signal?: unknown;
}

export interface HttpClientOptions {
  /**
   * Address such as `http://127.0.0.1:7070`, without a slash at the end; `""` in a browser that loaded the console from
   * the control plane.
   */
  readonly baseUrl: string;
  /** Bearer token; absent in browsers, which are signed in by a cookie. */
  readonly token?: string | undefined;
  /**
   * User on whose behalf requests are sent (`checkedUser` defines valid names). Absent: the control plane decides by
   * the credentials.
   */
  readonly user?: string | undefined;
  /** The platform's `fetch`. */
  fetch(url: string, request: HttpRequest): Promise<HttpResponse>;
  /** Generates a key for each command, such as `crypto.randomUUID`. Absent: commands are sent without a key. */
  newIdempotencyKey?(): string;
}

type SentValue = string | number | boolean | readonly string[] | null | undefined;
type SentQuery = Readonly<Record<string, SentValue>>;

export interface Call {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: SentQuery | undefined;
  readonly body?: unknown;
  readonly options?: (CallOptions & CommandOptions) | undefined;
}

/** The texts of a query's values, as the schema of the query reads them. Absent ones have none. */
export function queryTexts(query: object): Record<string, string> {
  const given = Object.entries(query as SentQuery).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

function urlOf(operation: Operation, call: Call): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(call.params?.[name] ?? ""));
  const texts = Object.entries(queryTexts(call.query ?? {}));
  const pairs = texts.map(([name, text]) => `${name}=${encodeURIComponent(text)}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

function problemIn(text: string, status: number): ProblemError {
  let parsed: ReturnType<typeof problem.safeParse> | null = null;
  try {
    parsed = problem.safeParse(JSON.parse(text));
  } catch {
    // The answer is not JSON: it is the page of a proxy, or comes from another server. The error below says so.
  }
  if (parsed?.success !== true || !isProblemCode(parsed.data.code)) {
    return refuse(
      "unexpectedAnswer",
      `The answer (status ${status}) does not come from Headroom. Is another server at this address?`,
    );
  }
  const { code, detail, errors, facts } = parsed.data;
  return new ProblemError(
    problemOf(code, detail, { ...(errors === undefined ? {} : { errors }), ...(facts === undefined ? {} : { facts }) }),
  );
}

function checked<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse("unexpectedAnswer", "The answer is not JSON. Is another server at this address?");
  }
  return accepted(schema, value);
}

function accepted<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const errors: ProblemPlace[] = parsed.error.issues
    .slice(0, 10)
    .map((issue) => ({ pointer: `/${issue.path.join("/")}`, message: issue.message }));
  throw refuse(
    "unexpectedAnswer",
    "The answer does not have the expected form. Are client and server of one version?",
    {
      errors,
    },
  );
}

export class Http {
  readonly #options: HttpClientOptions;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  async call<Schema extends z.ZodType>(
    operation: Operation & { readonly response: Schema },
    call: Call = {},
  ): Promise<z.output<Schema>> {
    const response = await this.#send(operation, call, "application/json");
    const text = await response.text().catch((error: unknown) => this.#brokenOff(error, call.options?.signal));
    if (response.status >= 400) throw problemIn(text, response.status);
    return checked(operation.response, text);
  }

  /** The bytes of the answer, and its headers that the operation declares. */
  async snapshot(call: Call): Promise<Snapshot> {
    const response = await this.#send(operations.snapshot, call, "application/octet-stream");
    const broken = (error: unknown): never => this.#brokenOff(error, call.options?.signal);
    if (response.status >= 400) throw problemIn(await response.text().catch(broken), response.status);
    const bytes = new Uint8Array(await response.arrayBuffer().catch(broken));
    const told = ({ name }: { readonly name: string }): number => Number(response.headers.get(name) ?? Number.NaN);
    const { sequence, nowMs } = snapshotHeaders;
    return accepted(operations.snapshot.response, { bytes, sequence: told(sequence), nowMs: told(nowMs) });
  }

  async *stream<Schema extends z.ZodType>(
    operation: Operation & { readonly response: Schema },
    call: Call,
  ): AsyncGenerator<z.output<Schema>, void, undefined> {
    const response = await this.#send(operation, call, "application/x-ndjson");
    if (response.status >= 400) throw problemIn(await response.text(), response.status);
    if (response.body === null) return;
    for await (const line of this.#lines(response.body, call.options?.signal)) {
      // A stream that fails after its first byte reports the problem in its last line.
      if (line.startsWith('{"problem":')) throw problemIn(JSON.stringify(JSON.parse(line).problem), response.status);
      yield checked(operation.response, line);
    }
  }

  async *#lines(body: ByteStream, signal: Abort | undefined): AsyncGenerator<string, void, undefined> {
    try {
      yield* linesOf(body);
    } catch (error) {
      this.#brokenOff(error, signal);
    }
  }

  /** The platform's message ("terminated") does not help the user. */
  #brokenOff(error: unknown, signal: Abort | undefined): never {
    if (signal?.aborted === true) throw error;
    const what = `The connection to the control plane at ${this.#options.baseUrl} broke off`;
    throw refuse("unreachable", `${what} (${messageOf(error)}). Is it still running?`);
  }

  async #send(operation: Operation, call: Call, accept: string): Promise<HttpResponse> {
    const { baseUrl, token, user, newIdempotencyKey } = this.#options;
    const headers: Record<string, string> = { accept };
    if (user !== undefined) headers[USER_HEADER.toLowerCase()] = user;
    if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
    if (operation.body !== null) headers["content-type"] = "application/json";
    const key = call.options?.idempotencyKey ?? (operation.method === "GET" ? undefined : newIdempotencyKey?.());
    if (key !== undefined) headers["idempotency-key"] = key;
    const signal: Abort | undefined = call.options?.signal;
    const request: HttpRequest = { method: operation.method, headers };
    if (operation.body !== null) request.body = JSON.stringify(call.body);
    if (signal !== undefined) request.signal = signal;
    try {
      return await this.#options.fetch(baseUrl + urlOf(operation, call), request);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      const reason = messageOf(error);
      // A browser asks the server that its page came from, so there is no address to name.
      const where = baseUrl === "" ? "" : ` at ${baseUrl}`;
      if (isPlainHttp(error)) {
        const plain = baseUrl.replace(/^https:/, "http:");
        throw refuse("unreachable", `The server${where} does not speak TLS. If it is a control plane, use ${plain}.`);
      }
      throw refuse("unreachable", `The control plane${where} does not answer (${reason}). Is it running?`);
    }
  }
}

/** Whether a TLS handshake was answered in plain text (OpenSSL's "wrong version number" or "packet length too long"). */
function isPlainHttp(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG";
}

/** The `fetch` of the platform says only "fetch failed" and has the reason as the error's cause. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return "no reason given";
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
