/**
 * Requests to an API server. Configuration and authentication are those of `@kubernetes/client-node`, which is loaded at the first request.
 * Every call has a time limit and an answer of limited size; streams end with their signal.
 */
import { randomBytes } from "node:crypto";
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { AgentOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { OperationalError } from "@headroom/platform";

import { acceptOf, CHANNEL_PROTOCOLS, ChannelSocket } from "./channel-socket.ts";

export interface ConnectionSettings {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly requestTimeoutMs: number;
  /** The token to use instead of that of the configuration. It is read again when the server refuses it. */
  readonly token?: (() => string) | undefined;
}

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
}

export interface ApiAnswer {
  readonly status: number;
  /** The object of the answer. For an error: a `Status`. */
  readonly body: unknown;
}

/** A page of 500 pods has up to some MiB. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;
/** Calls at a time. Streams have connections of their own: a watch or a log that is followed holds one as long as it lasts. */
const CALLS_MAX = 16;
/** Tokens of service accounts are renewed on disk, and those of commands expire. */
const CREDENTIALS_MAX_AGE_MS = 60_000;
const MESSAGE_SHOWN = 300;

interface Credentials {
  readonly server: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly callAgent: HttpsAgent;
  readonly streamAgent: HttpsAgent;
  readonly atMs: number;
  readonly tls: string;
}

export class Connection {
  readonly #settings: ConnectionSettings;
  /** `null`: they are read at the next request. */
  #credentials: Credentials | null = null;
  /** The newest ones, whose connections are open. */
  #latest: Credentials | null = null;
  #loading: Promise<Credentials> | null = null;
  readonly #closed = new AbortController();
  /** End calls in progress with a reason. */
  readonly #calls = new Set<(reason: Error) => void>();

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** The answer, whatever its status. Throws `executorUnreachable` if there is none, or if it is not whole. */
  async call(request: ApiRequest): Promise<ApiAnswer> {
    const { requestTimeoutMs } = this.#settings;
    const beganMs = performance.now();
    try {
      const credentials = await this.#authenticated();
      const leftMs = Math.max(1, requestTimeoutMs - (performance.now() - beganMs));
      const { status, text } = await this.#exchange(request, credentials, leftMs);
      if (status === 401) this.#credentials = null;
      return { status, body: parsed(text, status) };
    } catch (error) {
      throw unreachable(messageOf(error), error);
    }
  }

  /** The answer of a call that must succeed. */
  async answer<Body>(request: ApiRequest): Promise<Body> {
    const { status, body } = await this.call(request);
    if (status >= 200 && status < 300) return body as Body;
    throw unreachable(`${request.method} ${request.path}: ${statusText(status, body)}`);
  }

  /** A body that is read while it comes. Throws if the status is not 200. */
  async stream(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { requestTimeoutMs } = this.#settings;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), requestTimeoutMs);
    const all = AbortSignal.any([this.#closed.signal, signal, late.signal]);
    try {
      const response = await this.#open(request, all);
      if (response.statusCode === 200) return response;
      const status = response.statusCode ?? 0;
      if (status === 401) this.#credentials = null;
      throw new StreamRefused(status, statusText(status, parsed(await readText(response), status)));
    } catch (error) {
      if (error instanceof StreamRefused) throw error;
      throw unreachable(late.signal.aborted ? `no answer within ${requestTimeoutMs} ms` : messageOf(error), error);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * A connection with the protocol of remote commands. `onMessage`: gets the channel and its bytes. Throws a `StreamRefused` if the server
   * refuses it.
   */
  async socket(path: string, onMessage: (channel: number, data: Buffer) => void): Promise<ChannelSocket> {
    const { requestTimeoutMs } = this.#settings;
    const { server, headers, streamAgent } = await this.#authenticated();
    const key = randomBytes(16).toString("base64");
    const url = new URL(server.pathname.replace(/\/$/, "") + path, server);
    const upgrade = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
    };
    const options: RequestOptions = {
      headers: {
        ...headers,
        ...upgrade,
        "sec-websocket-protocol": CHANNEL_PROTOCOLS.join(", "),
        "user-agent": "headroom",
      },
    };
    const { promise, resolve, reject } = Promise.withResolvers<ChannelSocket>();
    const call =
      url.protocol === "https:" ? httpsRequest(url, { ...options, agent: streamAgent }) : httpRequest(url, options);
    const timer = setTimeout(
      () => call.destroy(new Error(`no answer within ${requestTimeoutMs} ms`)),
      requestTimeoutMs,
    );
    call.once("error", reject);
    call.once("response", (response) => {
      const status = response.statusCode ?? 0;
      if (status === 401) this.#credentials = null;
      readText(response).then(
        (text) => reject(new StreamRefused(status, statusText(status, parsed(text, status)))),
        reject,
      );
    });
    call.once("upgrade", (response, socket, head) => {
      const protocol = String(response.headers["sec-websocket-protocol"]);
      const isAccepted = response.headers["sec-websocket-accept"] === acceptOf(key);
      if (isAccepted && CHANNEL_PROTOCOLS.some((each) => each === protocol))
        return resolve(new ChannelSocket(socket, head, protocol, onMessage));
      socket.destroy();
      reject(new Error("the answer is no WebSocket for remote commands"));
    });
    call.end();
    try {
      const opened = await promise;
      const end = (): void => opened.close();
      this.#closed.signal.addEventListener("abort", end, { once: true });
      void opened.closed.then(() => this.#closed.signal.removeEventListener("abort", end));
      return opened;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#closed.abort();
    for (const end of this.#calls) end(new Error("the connection is closed"));
    this.#latest?.callAgent.destroy();
    this.#latest?.streamAgent.destroy();
  }

  /**
   * Sends a call and reads its answer. A gang of a thousand workers has thousands of calls, and a timer with plain events takes half of the
   * processor time of a signal and an iterator.
   */
  async #exchange(
    request: ApiRequest,
    credentials: Credentials,
    leftMs: number,
  ): Promise<{ readonly status: number; readonly text: string }> {
    if (this.#closed.signal.aborted) throw new Error("the connection is closed");
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    const call = send(request, credentials, "callAgent", {});
    const end = (reason: Error): void => {
      reject(reason);
      call.destroy(reason);
    };
    call.on("error", reject);
    call.once("response", (response: IncomingMessage) => {
      const status = response.statusCode ?? 0;
      collect(response, (text) => resolve({ status, text }), end);
    });
    const { requestTimeoutMs } = this.#settings;
    const timer = setTimeout(() => end(new Error(`no answer within ${requestTimeoutMs} ms`)), leftMs);
    this.#calls.add(end);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#calls.delete(end);
    }
  }

  async #open(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const credentials = await this.#authenticated();
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const call = send(request, credentials, "streamAgent", { signal });
    call.once("response", resolve);
    call.once("error", reject);
    return await promise;
  }

  async #authenticated(): Promise<Credentials> {
    const known = this.#credentials;
    if (known !== null && performance.now() - known.atMs < CREDENTIALS_MAX_AGE_MS) return known;
    this.#loading ??= this.#load(this.#latest).finally(() => (this.#loading = null));
    return (this.#credentials = this.#latest = await this.#loading);
  }

  /** The configuration; its credentials are those of the user that `token` names, if it is set. */
  async #config(): Promise<KubeConfig> {
    const { KubeConfig: Config } = await import("@kubernetes/client-node");
    const { kubeconfig, context, token } = this.#settings;
    const config = new Config();
    if (kubeconfig !== undefined) config.loadFromFile(kubeconfig);
    else if (process.env["KUBERNETES_SERVICE_HOST"] !== undefined) config.loadFromCluster();
    else config.loadFromDefault();
    if (context !== undefined) config.setCurrentContext(context);
    const cluster = config.getCurrentCluster();
    if (cluster === null)
      throw new Error(`the kubeconfig has no cluster for the context ${config.getCurrentContext()}`);
    if (token !== undefined) config.loadFromClusterAndUser(cluster, { name: "token", token: token() });
    return config;
  }

  async #load(before: Credentials | null): Promise<Credentials> {
    const config = await this.#config();
    const server = new URL(config.getCurrentCluster()?.server ?? "");
    const applied: RequestOptions & AgentOptions = {};
    await config.applyToHTTPSOptions(applied);
    const { ca, cert, key, passphrase, pfx, rejectUnauthorized, servername } = applied;
    const files = { ca, cert, key, passphrase, pfx, rejectUnauthorized, servername };
    const tls = JSON.stringify(files);
    const used = Object.fromEntries(Object.entries(files).filter(([, value]) => value !== undefined));
    const isSame = before?.tls === tls;
    const callAgent = isSame ? before.callAgent : new HttpsAgent({ ...used, keepAlive: true, maxSockets: CALLS_MAX });
    const streamAgent = isSame ? before.streamAgent : new HttpsAgent(used);
    if (before !== null && !isSame) {
      before.callAgent.destroy();
      before.streamAgent.destroy();
    }
    return { server, headers: stringHeaders(applied), callAgent, streamAgent, atMs: performance.now(), tls };
  }
}

function send(
  { method, path, query, body, contentType = "application/json" }: ApiRequest,
  { server, headers, ...agents }: Credentials,
  kind: "callAgent" | "streamAgent",
  options: RequestOptions,
): ClientRequest {
  const data = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const content = data === undefined ? {} : { "content-type": contentType, "content-length": data.length };
  const target: RequestOptions = {
    ...options,
    method,
    hostname: server.hostname.replace(/^\[|\]$/g, ""),
    port: server.port,
    path: `${server.pathname.replace(/\/$/, "")}${path}${queryText(query)}`,
    headers: { ...headers, accept: "application/json", "user-agent": "headroom", ...content },
  };
  const call = server.protocol === "https:" ? httpsRequest({ ...target, agent: agents[kind] }) : httpRequest(target);
  call.setNoDelay(true);
  call.end(data);
  return call;
}

function queryText(query: ApiRequest["query"]): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

/** The server answered a request for a stream with an error. */
export class StreamRefused extends Error {
  override readonly name = "StreamRefused";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reason and message of a `Status` of Kubernetes, for people. */
export function statusText(status: number, body: unknown): string {
  const message = typeof body === "object" && body !== null && "message" in body ? body.message : undefined;
  const page = typeof body === "string" ? body : "";
  const text = typeof message === "string" && message !== "" ? message : page;
  return `${status}${text === "" ? "" : ` ${text.slice(0, MESSAGE_SHOWN)}`}`;
}

export const unreachable = (message: string, cause?: unknown): OperationalError =>
  new OperationalError("executorUnreachable", message, { retryable: true, cause });

function stringHeaders({ headers, auth }: RequestOptions): Record<string, string> {
  const found: Record<string, string> = {};
  if (typeof auth === "string") found["Authorization"] = `Basic ${Buffer.from(auth).toString("base64")}`;
  for (const [name, value] of Object.entries(headers ?? {})) if (typeof value === "string") found[name] = value;
  return found;
}

async function readText(response: IncomingMessage): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  collect(response, resolve, (reason) => {
    reject(reason);
    response.destroy();
  });
  return await promise;
}

/** Reads the whole body. `onFailure` is called if it is too long or cut off, perhaps repeatedly. */
function collect(response: IncomingMessage, onText: (text: string) => void, onFailure: (reason: Error) => void): void {
  const pieces: Buffer[] = [];
  let length = 0;
  response.on("data", (piece: Buffer) => {
    length += piece.length;
    if (length > ANSWER_MAX_BYTES) return onFailure(new Error(`an answer of more than ${ANSWER_MAX_BYTES} bytes`));
    pieces.push(piece);
  });
  response.on("error", onFailure);
  response.once("close", () => {
    if (response.complete) onText(Buffer.concat(pieces).toString("utf8"));
    else onFailure(new Error("the answer was cut off"));
  });
}

/** Proxies answer errors with pages of HTML. A success must be JSON. */
function parsed(text: string, status: number): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    if (status >= 200 && status < 300) throw new Error("the answer is not JSON");
    return text;
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
