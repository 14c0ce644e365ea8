/** The gateway process: accepts client connections, runs exchanges, calls replicas. Entry point: `startGateway`. */
import { PrefixHasher, hashText, type PrefixBlocks, type Slo } from "@headroom/routing";
import type { ResponseOwners } from "../access/response-owners.ts";
import { Callers } from "../access/callers.ts";
import { anonymous, type Caller } from "../access/teams.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { clientLimits } from "./client-limits.ts";
import { BatchApi, type FileContent } from "../batches/batch-api.ts";
import { FileAnswer } from "../batches/file-answer.ts";
import { BatchRunner, type BatchResult } from "../batches/runner.ts";
import type { BatchStore } from "../batches/store.ts";
import { CollectTarget } from "../exchange/collect-target.ts";
import { JoinedTarget } from "../exchange/joined-target.ts";
import { Exchange } from "../exchange/exchange.ts";
import { ExchangeList } from "../exchange/exchange-list.ts";
import { isTriedAgain } from "../exchange/pool-turn.ts";
import type { ExchangeRequest, ExchangeSummary, Runtime } from "../exchange/runtime.ts";
import { HttpTarget, wholeResponse, type ResponseTarget } from "../exchange/target.ts";
import type { ClientConnection, ClientLimits, ClientPort, ClientProblem } from "../http/client-connection.ts";
import { BodySlabs } from "../http/body-slabs.ts";
import { ConnectionTable } from "../http/connection-table.ts";
import { FairTurns } from "../http/fair-turns.ts";
import { MemoryBudget } from "../http/memory-budget.ts";
import { SharedBudget } from "../http/shared-budget.ts";
import type { RequestHead } from "../http/request-head.ts";
import { noPeek, peekRequest, type PeekProblem } from "../json/peek.ts";
import { validTraceparent } from "../telemetry/trace-context.ts";
import type { LimitSource } from "../limits/account.ts";
import { errorBody, statusOf, type ApiError } from "../protocols/api-error.ts";
import { dialectOf, endpointAt, inferModelAt, pathOf, type Endpoint, type Operation } from "../protocols/endpoints.ts";
import { isOpenPath, type ServingState } from "../protocols/health.ts";
import { ModelLists } from "../protocols/model-lists.ts";
import { readAnswer, type Answer } from "../protocols/read-requests.ts";
import { storedResponseAt } from "../protocols/stored-responses.ts";
import type { Fleet } from "../replicas/fleet.ts";
import { dataRulesOf } from "../replicas/overflow-policy.ts";
import type { Pool } from "../replicas/pool.ts";
import type { Waker } from "../replicas/waker.ts";
import type { AccessLog } from "../telemetry/access-log.ts";
import type { GatewayMetrics } from "../telemetry/metrics.ts";
import type { RequestRing } from "../telemetry/request-ring.ts";
import type { Tracer } from "../telemetry/tracer.ts";
import type { UsageLog } from "../usage/usage-log.ts";
import { refusalHeaders, retryAfterIn } from "../exchange/settlement.ts";
import { streamedLine } from "./streamed-line.ts";
import { aloneHead, bodiesFull, errorAnswer, filesFail, kindOf, usageFails } from "./own-messages.ts";
import { observeLatencies } from "./observe-latencies.ts";
import { admit, admitStored, type Admitted, type Message } from "./admission.ts";
import { recordRefusal } from "./refusals.ts";
import { RetryAllowance } from "./retry-budget.ts";
import { ShadowCopies } from "../shadow/shadow-copies.ts";

export interface GatewayParts {
  readonly fleet: Fleet;
  readonly owners: ResponseOwners;
  readonly limits: LimitSource;
  readonly usage: UsageLog;
  readonly metrics: GatewayMetrics;
  readonly ring: RequestRing;
  readonly waker: Waker;
  readonly batches: BatchStore;
  readonly accessLog: AccessLog | undefined;
  readonly tracer: Tracer | undefined;
  now(): number;
  log(line: string): void;
}

const CHECKPOINT_MS = 1000;
const noBytes = Buffer.alloc(0);

/** The request that an error answers. */
interface Refused {
  readonly caller?: Caller;
  readonly operation?: Operation;
  readonly model?: string;
  readonly bodyBytes?: number;
}

export class Gateway implements ClientPort, Runtime {
  readonly #parts: GatewayParts;
  readonly limits: LimitSource;
  bounds: ClientLimits;
  readonly bodies: SharedBudget;
  readonly turns = new FairTurns();
  readonly records: MemoryBudget;
  readonly answers: MemoryBudget;
  readonly slabs: BodySlabs = new BodySlabs();
  readonly usage: UsageLog;
  readonly retries: RetryAllowance = new RetryAllowance();
  readonly checkpointMs: number = CHECKPOINT_MS;
  restCount = 0;
  readonly connections = new ConnectionTable<ClientConnection>();
  readonly exchanges = new ExchangeList<Exchange>();
  readonly #hasher = new PrefixHasher();
  readonly #lists = new ModelLists();
  readonly #idPrefix: string;
  #requestCount = 0;
  #config: GatewayConfig;
  readonly callers: Callers;
  readonly batchRunner: BatchRunner;
  readonly #batchApi: BatchApi;
  readonly shadow: ShadowCopies;
  isDraining = false;

  constructor(config: GatewayConfig, parts: GatewayParts) {
    this.#config = config;
    this.#parts = parts;
    this.usage = parts.usage;
    this.limits = parts.limits;
    this.bounds = clientLimits(config);
    this.bodies = new SharedBudget(config.bounds.bodies);
    this.records = new MemoryBudget(config.bounds.bodies / 4);
    this.answers = new MemoryBudget(config.bounds.answers);
    this.callers = new Callers(config.teams, parts.now);
    this.batchRunner = new BatchRunner({
      store: parts.batches,
      concurrency: config.batches.concurrency,
      now: parts.now,
      callerOf: (team) => (team === "" && this.#config.access === "open" ? anonymous : this.callers.ofTeam(team)),
      run: (caller, endpoint, body) => this.#runAlone(caller, endpoint, body),
    });
    this.shadow = new ShadowCopies(parts);
    this.#batchApi = new BatchApi(parts.batches, this.batchRunner);
    this.#idPrefix = `${config.id.replaceAll(/[^A-Za-z0-9-]/g, "-")}-${parts.usage.life}-`;
  }

  get responseBufferBytes(): number {
    return this.#config.bounds.responseBuffer;
  }

  get answerBytesMax(): number {
    return this.#config.bounds.answer;
  }

  /** Applies a configuration. Throws, before anything has changed, if a replica's credential cannot be read. */
  apply(config: GatewayConfig): void {
    this.#parts.fleet.apply(config, this.now());
    this.#parts.batches.storageMax = config.batches.storage;
    this.#config = config;
    this.callers.apply(config.teams);
    this.bounds = clientLimits(config);
  }

  /** Counts requests in progress to the budgets that their teams have now and did not have at their start. */
  addBudgets(): void {
    this.exchanges.forEach(({ limits, request }) => {
      const { money } = this.callers.ofTeam(request.caller.team)?.limits ?? {};
      if (money !== undefined) limits.addBudget(money);
    });
  }

  now(): number {
    return this.#parts.now();
  }

  log(line: string): void {
    this.#parts.log(line);
  }

  servingState(): ServingState {
    const { isDraining, usage } = this;
    return { fleet: this.#parts.fleet, isDraining, isFailing: usage.isFailing, nowMs: this.now() };
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
    if (isOpenPath(path)) {
      if (head.contentLength === 0) return true;
      this.#refuse(connection, { path, head }, { kind: "badRequest", message: `${path} takes no body.` });
      return false;
    }
    const caller = this.callers.find(head.key);
    if (caller !== undefined || this.#config.access === "open") {
      this.connections.identified(connection);
      connection.bodyOwner = caller?.team ?? connection.address;
      return true;
    }
    const message =
      head.key === "" ? "No API key was given. Send it as `Authorization: Bearer KEY`." : "The API key is not valid.";
    this.#refuse(connection, { path, head }, { kind: "unauthenticated", message });
    return false;
  }

  refuseMessage(connection: ClientConnection, target: string, problem: ClientProblem): void {
    const { status, message, head } = problem;
    this.#refuse(
      connection,
      { path: pathOf(target), head },
      { kind: kindOf(status), status, message, retryAfterMs: status === 503 ? bodiesFull.retryAfterMs : undefined },
      `http_${status}`,
    );
  }

  closed(connection: ClientConnection): void {
    this.connections.delete(connection);
  }

  handle(connection: ClientConnection, head: RequestHead, body: Buffer): void {
    const { target } = head;
    const query = target.indexOf("?");
    const path = query < 0 ? target : target.slice(0, query);
    const caller =
      this.#config.access === "open" ? (this.callers.find(head.key) ?? anonymous) : this.callers.find(head.key);
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
    const stored = storedResponseAt(path);
    if (stored?.methods.includes(head.method) === true) {
      const request = { path: stored, query: query < 0 ? "" : target.slice(query), caller: caller ?? anonymous };
      const admitted = this.usage.isFailing ? usageFails : admitStored(request, this.#parts);
      this.#start(connection, head, admitted, { caller: request.caller, operation: "stored_response" });
      return;
    }
    const isKnown = endpoint !== undefined || inferModel !== undefined;
    this.#read(connection, head, {
      path,
      query: query < 0 ? "" : target.slice(query + 1),
      methods: stored?.methods ?? (isKnown ? ["POST"] : undefined),
      caller: caller ?? anonymous,
      body,
    });
  }

  #generate(
    connection: ClientConnection,
    message: { head: RequestHead; body: Buffer; caller: Caller; endpoint: Endpoint; query: string },
  ): void {
    const { head, body, caller, endpoint, query } = message;
    const peek = peekRequest(body, endpoint.operation);
    const { problem, field }: PeekProblem =
      "problem" in peek
        ? peek
        : peek.model === ""
          ? { problem: "The body has no `model`, or it is not a text.", field: "model" }
          : { problem: "" };
    if ("problem" in peek || problem !== "") {
      const refused = { caller, operation: endpoint.operation, bodyBytes: body.length };
      this.#answerError(connection, head, { kind: "badRequest", message: problem, field }, refused);
      return;
    }
    this.#exchange(connection, head, { body, caller, endpoint, peek, path: endpoint.path + query, own: head.own });
  }

  #infer(
    connection: ClientConnection,
    message: { head: RequestHead; body: Buffer; caller: Caller; path: string; model: string },
  ): void {
    const { head, body, caller, path, model } = message;
    const endpoint: Endpoint = { operation: "infer", dialect: "kserve", path, isGenerating: false };
    this.#exchange(connection, head, { body, caller, endpoint, peek: { ...noPeek, model }, path, own: head.own });
  }

  #exchange(connection: ClientConnection, head: RequestHead, message: Message): void {
    const { body, caller, peek, endpoint } = message;
    const admitted = this.usage.isFailing ? usageFails : this.#admit(message);
    const { operation } = endpoint;
    this.#start(connection, head, admitted, { caller, operation, model: peek.model, bodyBytes: body.length });
  }

  #start(
    connection: ClientConnection,
    head: RequestHead,
    admitted: Admitted | ApiError | Answer,
    refused: Refused,
  ): void {
    if (!("target" in admitted)) {
      if ("kind" in admitted) this.#answerError(connection, head, admitted, refused);
      else this.#answer(connection, head, admitted);
      return;
    }
    const copy = this.shadow.take(admitted, head);
    const exchange = this.#exchangeOf(admitted, head, this.shadow.targetOf(copy, connection, head));
    this.shadow.follow(exchange.request, copy);
    connection.exchange = exchange;
    if (!admitted.isTranslated) exchange.bodySlab = connection.bodySlab;
    connection.bodySlab = undefined;
    this.exchanges.add(exchange, connection);
    exchange.start();
  }

  /** A translated body is held beside the client's, so it needs memory of its own. */
  #admit(message: Message): Admitted | ApiError | Answer {
    const { body, caller } = message;
    const admitted = admit(message, this.#parts, this.now());
    if (!("target" in admitted) || !admitted.isTranslated) return admitted;
    return this.bodies.take(caller.team, admitted.message.body.length, body.length) ? admitted : bodiesFull;
  }

  #exchangeOf(admitted: Admitted, head: RequestHead, inner: ResponseTarget): Exchange {
    const { message, model, holder, isTranslated, urgency } = admitted;
    const id = this.#newId();
    this.retries.requestStarted();
    const parent = validTraceparent(head.traceparent);
    const traceparent = this.#parts.tracer?.childOf(parent) ?? parent;
    // W3C Trace Context, 3.3: without a valid `traceparent`, `tracestate` has no meaning and is not passed on.
    const tracestate = parent === "" ? "" : head.tracestate;
    const { method } = head;
    const bodyBytes = message.body.length;
    const isBatch = head === aloneHead;
    const own = { id, head, method, model, holder, bodyBytes, isBatch, urgency, traceparent, tracestate };
    const request: ExchangeRequest = { ...message, ...own };
    const target = admitted.target(inner, id, () => exchange.servedBy);
    const exchange: Exchange = new Exchange(this, request, target);
    exchange.translatedBytes = isTranslated ? bodyBytes : 0;
    return exchange;
  }

  #newId(): string {
    this.#requestCount++;
    return this.#idPrefix + this.#requestCount.toString(36);
  }

  #read(
    connection: ClientConnection,
    head: RequestHead,
    request: { path: string; query: string; methods: readonly string[] | undefined; caller: Caller; body: Buffer },
  ): void {
    if (request.methods !== undefined) {
      const message = `Use ${request.methods.join(" or ")} for ${request.path}.`;
      this.#answerError(connection, head, { kind: "methodNotAllowed", message });
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
      dataRules: dataRulesOf(caller, head.own),
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
      lists: this.#lists,
      ...this.servingState(),
    });
    this.#answer(connection, head, answer);
  }

  #answer(connection: ClientConnection, head: RequestHead, answer: Answer | FileContent | ApiError): void {
    if ("kind" in answer) this.#answerError(connection, head, answer);
    else if ("file" in answer) {
      const content = new FileAnswer(answer.file, this.#newId(), new HttpTarget(connection, head.minorVersion));
      connection.exchange = content;
      void content.send().catch(() => this.#answerError(connection, head, filesFail));
    } else {
      const headers = `content-type: application/json\r\nx-request-id: ${this.#newId()}\r\n`;
      const body = typeof answer.body === "string" ? Buffer.from(answer.body) : answer.body;
      new HttpTarget(connection, head.minorVersion).respond(answer.status, headers, body);
    }
  }

  /** A request that the gateway makes itself, such as a line of a batch. */
  #runAlone(caller: Caller, path: string, body: Buffer): Promise<BatchResult> {
    if (this.usage.isFailing) {
      const { retryAfterMs } = usageFails;
      return Promise.resolve({ status: 503, id: "", body: errorBody("openai", usageFails), retryAfterMs });
    }
    const endpoint = endpointAt(path);
    const peek = endpoint === undefined ? noPeek : peekRequest(body, endpoint.operation);
    const admitted: Admitted | ApiError | Answer =
      endpoint === undefined
        ? { kind: "notFound", message: `There is nothing at POST ${path.slice(0, 256)}.` }
        : "problem" in peek
          ? { kind: "badRequest", message: peek.problem, field: peek.field }
          : this.#admit({ body, caller, endpoint, peek, path, own: undefined });
    if (!("target" in admitted)) {
      const answer = "kind" in admitted ? errorAnswer(path, admitted) : { ...admitted, retryAfterMs: undefined };
      return Promise.resolve({ ...answer, id: "", body: answer.body.toString() });
    }
    const streamed = streamedLine(admitted);
    return new Promise((resolve) => {
      const collect = new (streamed === undefined ? CollectTarget : JoinedTarget)(
        ({ status, headers, body: answer }) => {
          const { id } = exchange.request;
          resolve({ status, id, body: answer.toString("utf8"), retryAfterMs: retryAfterIn(headers) });
        },
      );
      const exchange = this.#exchangeOf(streamed ?? admitted, aloneHead, collect);
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

  wakeRetryMs(pool: Pool): number {
    return this.#parts.waker.retryAfterMs(pool);
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
    this.bodies.give(exchange.request.caller.team, exchange.translatedBytes);
    if (!isTriedAgain(exchange.request, summary)) this.#parts.metrics.observe(summary);
    const { model, bodyBytes } = exchange.request;
    observeLatencies(this.#parts.fleet.pools.get(summary.record.pool), summary, model.estimatedPromptTokens(bodyBytes));
    const { overflow, nanoUsd } = summary.record;
    if (overflow !== undefined) this.#parts.fleet.paid(overflow, nanoUsd);
    this.shadow.ended(exchange.request, summary);
    this.#parts.ring.add(summary);
    this.#parts.accessLog?.write(exchange.request, summary);
    this.#parts.tracer?.ended(exchange.request, summary);
    const slab = exchange.takeReusableSlab();
    if (slab !== undefined) this.slabs.give(slab);
  }

  /** Answers a request whose body has arrived. */
  #answerError(connection: ClientConnection, head: RequestHead, error: ApiError, refused: Refused = {}): void {
    const id = this.#recordRefusal({ path: pathOf(head.target), head, ...refused }, error, error.kind);
    const body = Buffer.from(errorBody(dialectOf(pathOf(head.target)), error));
    new HttpTarget(connection, head.minorVersion).respond(statusOf(error), refusalHeaders(id, error), body);
  }

  /** Answers a request whose body is not read. */
  #refuse(
    connection: ClientConnection,
    request: { path: string; head: RequestHead | undefined },
    error: ApiError,
    reason: string = error.kind,
  ): void {
    const id = this.#recordRefusal(request, error, reason);
    const body = Buffer.from(errorBody(dialectOf(request.path), error));
    connection.refuse(wholeResponse(statusOf(error), refusalHeaders(id, error), body));
  }

  #recordRefusal(
    request: Refused & { path: string; head: RequestHead | undefined },
    error: ApiError,
    reason: string,
  ): string {
    const { path, head, caller, operation = endpointAt(path)?.operation, model = "", bodyBytes = 0 } = request;
    const id = this.#newId();
    const known = caller ?? (head === undefined ? undefined : this.callers.find(head.key));
    const refused = { id, atMs: this.now(), path, head, caller: known, operation, model, bodyBytes };
    recordRefusal(this.#parts, refused, error, reason);
    return id;
  }
}
