/** The gateway process: accepts client connections, runs exchanges, calls replicas. Entry point: `startGateway`. */
import { PrefixHasher, hashText, type PrefixBlocks, type Slo } from "@headroom/routing";
import { anonymous, Teams, type Caller } from "../access/teams.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { BatchApi, type FileContent } from "../batches/batch-api.ts";
import { FileAnswer } from "../batches/file-answer.ts";
import { BatchRunner, type BatchResult } from "../batches/runner.ts";
import type { BatchStore } from "../batches/store.ts";
import { CollectTarget } from "../exchange/collect-target.ts";
import { Exchange } from "../exchange/exchange.ts";
import { ExchangeList } from "../exchange/exchange-list.ts";
import type { ExchangeRequest, ExchangeSummary, Runtime } from "../exchange/runtime.ts";
import { HttpTarget, wholeResponse } from "../exchange/target.ts";
import type { ClientConnection, ClientLimits, ClientPort, ClientProblem } from "../http/client-connection.ts";
import { BodySlabs } from "../http/body-slabs.ts";
import { MemoryBudget } from "../http/memory-budget.ts";
import type { RequestHead } from "../http/request-head.ts";
import { peekRequest, type RequestPeek } from "../json/peek.ts";
import type { LimitSource } from "../limits/account.ts";
import { errorBody, statusOf, type ApiError } from "../protocols/api-error.ts";
import { dialectOf, endpointAt, inferModelAt, type Endpoint } from "../protocols/endpoints.ts";
import { readAnswer, type Answer } from "../protocols/read-requests.ts";
import type { Fleet } from "../replicas/fleet.ts";
import type { Pool } from "../replicas/pool.ts";
import type { Waker } from "../replicas/waker.ts";
import type { AccessLog } from "../telemetry/access-log.ts";
import type { GatewayMetrics } from "../telemetry/metrics.ts";
import type { Tracer } from "../telemetry/tracer.ts";
import type { UsageLog } from "../usage/usage-log.ts";
import { retryHeaders } from "../exchange/settlement.ts";
import { translate } from "../translation/translate.ts";
import { RetryAllowance } from "./retry-budget.ts";

export interface GatewayParts {
  readonly fleet: Fleet;
  readonly limits: LimitSource;
  readonly usage: UsageLog;
  readonly metrics: GatewayMetrics;
  readonly waker: Waker;
  readonly batches: BatchStore;
  readonly accessLog: AccessLog | undefined;
  readonly tracer: Tracer | undefined;
  now(): number;
  log(line: string): void;
}

const CHECKPOINT_MS = 1000;
const noBytes = Buffer.alloc(0);
const jsonHeader = "content-type: application/json\r\n";
const aloneHead: RequestHead = {
  method: "POST",
  target: "",
  minorVersion: 1,
  isKeepAlive: true,
  contentLength: 0,
  isExpectingContinue: false,
  key: "",
  contentType: "application/json",
  traceparent: "",
  requestId: "",
  session: "",
  own: undefined,
  forwarded: "content-type: application/json\r\n",
};
const filesFail: ApiError = { kind: "internal", message: "The files of batches cannot be read or written." };
const usageFails: ApiError = {
  kind: "overloaded",
  message: "The gateway cannot record usage now and takes no requests. Try again later.",
  retryAfterMs: 5000,
};
const noPeek: RequestPeek = {
  model: "",
  modelSpan: undefined,
  isStream: false,
  outputTokensMax: undefined,
  choiceCount: 1,
  streamOptions: undefined,
  isUsageAsked: true,
  prompt: undefined,
  isResumable: false,
  session: "",
};

export class Gateway implements ClientPort, Runtime {
  readonly #parts: GatewayParts;
  readonly limits: LimitSource;
  bounds: ClientLimits;
  readonly bodies: MemoryBudget;
  readonly records: MemoryBudget;
  readonly slabs: BodySlabs = new BodySlabs();
  readonly usage: UsageLog;
  readonly retries: RetryAllowance = new RetryAllowance();
  readonly checkpointMs: number = CHECKPOINT_MS;
  restCount = 0;
  readonly connections = new Set<ClientConnection>();
  readonly exchanges = new ExchangeList<Exchange>();
  readonly #hasher = new PrefixHasher();
  readonly #idPrefix: string;
  #requestCount = 0;
  #config: GatewayConfig;
  #teams: Teams;
  readonly batchRunner: BatchRunner;
  readonly #batchApi: BatchApi;
  isDraining = false;

  constructor(config: GatewayConfig, parts: GatewayParts) {
    this.#config = config;
    this.#parts = parts;
    this.usage = parts.usage;
    this.limits = parts.limits;
    this.bounds = clientLimits(config);
    this.bodies = new MemoryBudget(config.bounds.bodies);
    this.records = new MemoryBudget(config.bounds.bodies / 4);
    this.#teams = new Teams(config.teams);
    this.batchRunner = new BatchRunner({
      store: parts.batches,
      concurrency: config.batches.concurrency,
      now: parts.now,
      callerOf: (team) => (team === "" && this.#config.access === "open" ? anonymous : this.#teams.ofTeam(team)),
      run: (caller, endpoint, body) => this.#runAlone(caller, endpoint, body),
    });
    this.#batchApi = new BatchApi(parts.batches, this.batchRunner);
    this.#idPrefix = `${config.id.replaceAll(/[^A-Za-z0-9-]/g, "-")}-${parts.usage.life}-`;
  }

  get responseBufferBytes(): number {
    return this.#config.bounds.responseBuffer;
  }

  /** Applies a configuration. Throws, before anything has changed, if a replica's credential cannot be read. */
  apply(config: GatewayConfig): void {
    this.#parts.fleet.apply(config, this.now());
    this.#parts.batches.storageMax = config.batches.storage;
    this.#config = config;
    this.#teams = new Teams(config.teams);
    this.bounds = clientLimits(config);
  }

  now(): number {
    return this.#parts.now();
  }

  log(line: string): void {
    this.#parts.log(line);
  }

  sweep(): void {
    const nowMs = this.now();
    for (const connection of this.connections) connection.sweep(nowMs);
    this.exchanges.forEach((exchange) => exchange.sweep(nowMs));
    this.#parts.fleet.sweep(nowMs);
    this.#parts.waker.sweep();
  }

  acceptsHead(connection: ClientConnection, head: RequestHead): boolean {
    const path = pathOf(head.target);
    if (this.isDraining) connection.isLastRequest = true;
    if (isOpenPath(path) || this.#config.access === "open" || this.#teams.find(head.key) !== undefined) return true;
    this.#parts.metrics.refused("unauthenticated");
    const message =
      head.key === "" ? "No API key was given. Send it as `Authorization: Bearer KEY`." : "The API key is not valid.";
    this.#refuse(connection, path, { kind: "unauthenticated", message });
    return false;
  }

  refuseMessage(connection: ClientConnection, target: string, problem: ClientProblem): void {
    this.#parts.metrics.refused(`http_${problem.status}`);
    this.#refuse(connection, pathOf(target), {
      kind: kindOf(problem.status),
      status: problem.status,
      message: problem.message,
    });
  }

  closed(connection: ClientConnection): void {
    this.connections.delete(connection);
  }

  handle(connection: ClientConnection, head: RequestHead, body: Buffer): void {
    const { target } = head;
    const query = target.indexOf("?");
    const path = query < 0 ? target : target.slice(0, query);
    const caller =
      this.#config.access === "open" ? (this.#teams.find(head.key) ?? anonymous) : this.#teams.find(head.key);
    // The key was valid when the head of the request arrived, but a configuration without this key may have been
    // applied since.
    if (caller === undefined && !isOpenPath(path)) {
      this.#answerError(connection, head, { kind: "unauthenticated", message: "The API key is not valid any more." });
      return;
    }
    const endpoint = endpointAt(path);
    if (endpoint !== undefined && head.method === "POST") {
      this.#generate(connection, {
        head,
        body,
        caller: caller ?? anonymous,
        endpoint,
        query: query < 0 ? "" : target.slice(query),
      });
      return;
    }
    const inferModel = inferModelAt(path);
    if (inferModel !== undefined && head.method === "POST") {
      this.#infer(connection, { head, body, caller: caller ?? anonymous, path, model: inferModel });
      return;
    }
    this.#read(connection, head, {
      path,
      query: query < 0 ? "" : target.slice(query + 1),
      isKnown: endpoint !== undefined || inferModel !== undefined,
      caller: caller ?? anonymous,
      body,
    });
  }

  #generate(
    connection: ClientConnection,
    message: { head: RequestHead; body: Buffer; caller: Caller; endpoint: Endpoint; query: string },
  ): void {
    const { head, body, caller, endpoint, query } = message;
    const peek = peekRequest(body);
    if ("problem" in peek) {
      this.#answerError(connection, head, { kind: "badRequest", message: peek.problem });
      return;
    }
    if (peek.model === "") {
      this.#answerError(connection, head, {
        kind: "badRequest",
        message: "The body has no `model`, or it is not a text.",
      });
      return;
    }
    this.#exchange(connection, {
      head,
      body,
      caller,
      endpoint,
      peek,
      path: query === "" ? endpoint.path : endpoint.path + query,
    });
  }

  #infer(
    connection: ClientConnection,
    message: { head: RequestHead; body: Buffer; caller: Caller; path: string; model: string },
  ): void {
    const { head, body, caller, path, model } = message;
    const endpoint: Endpoint = { operation: "infer", dialect: "kserve", path, isGenerating: false };
    this.#exchange(connection, { head, body, caller, endpoint, peek: { ...noPeek, model }, path });
  }

  #exchange(
    connection: ClientConnection,
    message: { head: RequestHead; body: Buffer; caller: Caller; endpoint: Endpoint; peek: RequestPeek; path: string },
  ): void {
    const { head, body, caller, peek } = message;
    if (this.usage.isFailing) {
      this.#answerError(connection, head, usageFails);
      return;
    }
    const model = this.#parts.fleet.model(peek.model);
    const isAllowed = caller.models === undefined || (model !== undefined && caller.models.has(model.name));
    if (model === undefined || !isAllowed) {
      const kind = model === undefined ? "modelNotFound" : "forbidden";
      const detail = model === undefined ? "does not exist here" : `is not among the models of team ${caller.team}`;
      this.#answerError(connection, head, { kind, message: `The model \`${peek.model.slice(0, 256)}\` ${detail}.` });
      return;
    }
    const translated = translate(message.endpoint, model, body, this.now());
    if (translated !== undefined && "problem" in translated) {
      this.#answerError(connection, head, { kind: "badRequest", message: translated.problem });
      return;
    }
    const id = this.#newId();
    const http = new HttpTarget(connection, head.minorVersion);
    const { body: sent, endpoint, peek: sentPeek, path } = translated ?? message;
    const request = this.#requestOf({ id, head, caller, model, body: sent, endpoint, peek: sentPeek, path });
    const exchange = new Exchange(this, request, translated === undefined ? http : translated.target(http, id));
    connection.exchange = exchange;
    if (translated === undefined) exchange.bodySlab = connection.bodySlab;
    connection.bodySlab = undefined;
    this.exchanges.add(exchange, connection);
    exchange.start();
  }

  #newId(): string {
    this.retries.requestStarted();
    this.#requestCount++;
    return this.#idPrefix + this.#requestCount.toString(36);
  }

  #requestOf(parts: Omit<ExchangeRequest, "method" | "traceparent" | "bodyBytes">): ExchangeRequest {
    const { id, head, body, caller, endpoint, peek, path, model } = parts;
    const traceparent = this.#parts.tracer?.childOf(head.traceparent) ?? head.traceparent;
    return {
      id,
      head,
      body,
      caller,
      endpoint,
      peek,
      path,
      method: head.method,
      model,
      traceparent,
      bodyBytes: body.length,
    };
  }

  #read(
    connection: ClientConnection,
    head: RequestHead,
    request: { path: string; query: string; isKnown: boolean; caller: Caller; body: Buffer },
  ): void {
    if (request.isKnown) {
      this.#answerError(connection, head, { kind: "methodNotAllowed", message: `Use POST for ${request.path}.` });
      return;
    }
    const { path, query, caller, body } = request;
    const batchAnswer = this.#batchApi.answer({
      method: head.method,
      path,
      query,
      contentType: head.contentType,
      body,
      caller,
      nowMs: this.now(),
    });
    if (batchAnswer !== undefined) {
      void batchAnswer.catch(() => filesFail).then((answer) => this.#answer(connection, head, answer));
      return;
    }
    const answer = readAnswer({
      method: head.method,
      path,
      caller,
      fleet: this.#parts.fleet,
      isDraining: this.isDraining || this.usage.isFailing,
      nowMs: this.now(),
    });
    this.#answer(connection, head, answer);
  }

  #answer(connection: ClientConnection, head: RequestHead, answer: Answer | FileContent | ApiError): void {
    if ("kind" in answer) this.#answerError(connection, head, answer);
    else if ("file" in answer) {
      const content = new FileAnswer(answer.file, new HttpTarget(connection, head.minorVersion));
      connection.exchange = content;
      void content.send().catch(() => this.#answerError(connection, head, filesFail));
    } else new HttpTarget(connection, head.minorVersion).respond(answer.status, jsonHeader, Buffer.from(answer.body));
  }

  /** A request that the gateway makes itself, such as a line of a batch. */
  #runAlone(caller: Caller, path: string, body: Buffer): Promise<BatchResult> {
    if (this.usage.isFailing) {
      const { retryAfterMs } = usageFails;
      return Promise.resolve({ status: 503, id: "", body: errorBody("openai", usageFails), retryAfterMs });
    }
    const endpoint = endpointAt(path);
    const peek = peekRequest(body);
    const model = "problem" in peek ? undefined : this.#parts.fleet.model(peek.model);
    if (
      endpoint === undefined ||
      "problem" in peek ||
      model === undefined ||
      (caller.models !== undefined && !caller.models.has(model.name))
    ) {
      const error: ApiError = {
        kind: "modelNotFound",
        message: "The model does not exist here, or the team may not use it.",
      };
      return Promise.resolve({ status: 404, id: "", body: errorBody("openai", error), retryAfterMs: undefined });
    }
    const translated = translate(endpoint, model, body, this.now());
    if (translated !== undefined && "problem" in translated) {
      const error: ApiError = { kind: "badRequest", message: translated.problem };
      return Promise.resolve({
        status: 400,
        id: "",
        body: errorBody(endpoint.dialect, error),
        retryAfterMs: undefined,
      });
    }
    const id = this.#newId();
    return new Promise((resolve) => {
      const collect = new CollectTarget(({ status, headers, body: answer }) => {
        const retryAfter = /^retry-after-ms: (\d+)/m.exec(headers)?.[1];
        resolve({
          status,
          id,
          body: answer.toString("utf8"),
          retryAfterMs: retryAfter === undefined ? undefined : Number(retryAfter),
        });
      });
      const {
        body: sent,
        endpoint: sentTo,
        peek: sentPeek,
        path: sentPath,
      } = translated ?? { body, endpoint, peek, path };
      const request = this.#requestOf({
        id,
        head: aloneHead,
        caller,
        model,
        body: sent,
        endpoint: sentTo,
        peek: sentPeek,
        path: sentPath,
      });
      const exchange = new Exchange(this, request, translated?.target(collect, id) ?? collect);
      this.exchanges.add(exchange, undefined);
      exchange.start();
    });
  }

  prefixOf(request: ExchangeRequest): PrefixBlocks {
    const { body, peek, model } = request;
    this.#hasher.begin(hashText(model.name));
    const span = peek.prompt ?? { start: 0, end: body.length };
    this.#hasher.update(body, span.start, span.end);
    return this.#hasher;
  }

  sloOf(own: ReadonlyMap<string, string>): Slo {
    const ttft = Number(own.get("x-headroom-slo-ttft-ms"));
    const tpot = Number(own.get("x-headroom-slo-tpot-ms"));
    return { ttftMs: ttft > 0 ? ttft : undefined, tpotMs: tpot > 0 ? tpot : undefined };
  }

  wake(pool: Pool, bytes: number | undefined, ready: (error: ApiError | undefined) => void): (() => void) | undefined {
    return this.#parts.waker.wake(pool, bytes, ready);
  }

  keepsBodies(): boolean {
    return this.bodies.usedBytes < this.bodies.maxBytes / 2;
  }

  bodyUnneeded(exchange: Exchange): void {
    if (this.#config.accessLog?.prompts === true) return;
    exchange.request.body = noBytes;
    exchange.connection?.releaseBody();
  }

  ended(exchange: Exchange, summary: ExchangeSummary): void {
    this.exchanges.remove(exchange);
    this.#parts.metrics.observe(summary);
    this.#parts.accessLog?.write(exchange.request, summary);
    this.#parts.tracer?.ended(exchange.request, summary);
    const slab = exchange.takeReusableSlab();
    if (slab !== undefined) this.slabs.give(slab);
  }

  #answerError(connection: ClientConnection, head: RequestHead, error: ApiError): void {
    this.#parts.metrics.refused(error.kind);
    const body = Buffer.from(errorBody(dialectOf(pathOf(head.target)), error));
    new HttpTarget(connection, head.minorVersion).respond(statusOf(error), jsonHeader + retryHeaders(error), body);
  }

  #refuse(connection: ClientConnection, path: string, error: ApiError): void {
    connection.refuse(wholeResponse(statusOf(error), jsonHeader, Buffer.from(errorBody(dialectOf(path), error))));
  }
}

function clientLimits({ bounds }: GatewayConfig): ClientLimits {
  return {
    headBytesMax: bounds.head,
    bodyBytesMax: bounds.body,
    headTimeoutMs: bounds.headTimeout,
    bodyTimeoutMs: bounds.bodyTimeout,
    idleTimeoutMs: bounds.idleTimeout,
    stallTimeoutMs: bounds.stallTimeout,
  };
}

function pathOf(target: string): string {
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

function isOpenPath(path: string): boolean {
  return path === "/health" || path === "/v2/health/live" || path === "/v2/health/ready";
}

function kindOf(status: number): ApiError["kind"] {
  if (status === 408) return "timeout";
  if (status === 413) return "tooLarge";
  return status === 503 ? "overloaded" : "badRequest";
}
