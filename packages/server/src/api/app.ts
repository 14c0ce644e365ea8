/**
 * The HTTP server. Routes come from the protocol's table of operations, requests are validated by its schemas, and
 * every failure becomes a problem document. The only state of the server is its open streams and counters.
 */
import type { IncomingMessage } from "node:http";
import type { ServerOptions as SecureServerOptions } from "node:https";
import type { Event } from "@headroom/model";
import { BODY_BYTES_MAX, openApiDocument, operationNames, operations, ProblemError, refuse } from "@headroom/protocol";
import type { Operation, OperationName } from "@headroom/protocol";
import { TLS_VERSION_MIN } from "@headroom/platform";
import type { TlsPair } from "@headroom/platform";
import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { compile } from "zod";
import type { z } from "zod";
import { fleetFigures } from "../metrics/fleet-metrics.ts";
import { Metrics } from "../metrics/metrics.ts";
import { addMlflowArtifactRoutes } from "../mlflow/artifact-routes.ts";
import { addMlflowRoutes, MLFLOW_OPERATION } from "../mlflow/mlflow-routes.ts";
import { addAccess } from "./access.ts";
import { ByteReplies } from "./bytes-reply.ts";
import { ConnectionBounds, headTimeouts } from "./connection-bounds.ts";
import { addConsoleRoutes } from "./console-routes.ts";
import type { ControlPlane } from "./control-plane.ts";
import { addFailureHandlers, answerRawProblem, refuseUnroutable, sendProblem } from "./failures.ts";
import { handlers, streamHandlers } from "./handlers.ts";
import { readsAllTeams } from "../auth/authorize.ts";
import { parsed } from "./problem-mapping.ts";
import { notReady } from "./readiness.ts";
import { idempotencyKeyOf, readJson } from "./request-reading.ts";
import { addOtlpMetricsRoute, OTLP_METRICS_OPERATION } from "./otlp-metrics-route.ts";
import { addRemoteWriteRoute, REMOTE_WRITE_OPERATION } from "./remote-write-route.ts";
import { requireResources } from "./resource-access.ts";
import { itemCheck } from "./large-bodies.ts";
import { SharedReads, sharedOperations } from "./shared-reads.ts";
import { Streams } from "./stream-reply.ts";
import type { StreamPiece, StreamWanted } from "./stream-reply.ts";
import { readerKey, TeamReaders } from "./team-readers.ts";

export interface ApiOptions {
  readonly plane: ControlPlane;
  /** Folder of the built console; `null`: there is no build. */
  readonly consoleDir: string | null;
  /** `null`: no TLS. */
  readonly tls?: TlsPair | null;
}

/** Timeout in ms for receiving a complete request, so that slow clients do not occupy connections. */
const REQUEST_TIMEOUT_MS = 30_000;
/**
 * Time in ms for which an idle connection stays open. It is longer than the usual proxy's 60 s, so that the proxy
 * closes first and no request is lost in between.
 */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** Longest time in ms for which a shutdown waits for requests in flight. Clients retry afterwards. */
const CLOSE_PATIENCE_MS = 3_000;
/** Length of the longest parameter in a path: a team's path with every character percent-encoded. */
const PARAM_CHARS_MAX = 1_200;

type AnyCall = Parameters<(typeof handlers)[keyof typeof handlers]>[1] & Parameters<(typeof streamHandlers)["logs"]>[1];
type SnapshotCall = Parameters<(typeof handlers)["snapshot"]>[1];
type AnswerHandler = (plane: ControlPlane, call: AnyCall, gone: () => AbortSignal) => unknown;
type StreamHandler = (plane: ControlPlane, call: AnyCall, wanted: StreamWanted) => Promise<AsyncIterable<StreamPiece>>;

export interface Api {
  readonly app: FastifyInstance;
  /** Accepts no new requests, ends every stream and waits for the requests in flight, up to a timeout. */
  close(): Promise<void>;
}

export function createApi({ plane, consoleDir, tls = null }: ApiOptions): Api {
  // The gate refuses requests without a `Host` header, so that this refusal has the same form as the others.
  const http = { requireHostHeader: false, ...headTimeouts };
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    requestIdHeader: false,
    ...(tls === null ? { http } : { https: { ...http, ...tlsOptions(tls) } }),
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    clientErrorHandler: answerRawProblem,
    frameworkErrors: (error, request, reply) => sendProblem(request, reply, error, plane.log),
  });
  const connections = new ConnectionBounds(app.server);
  refuseUnroutable(app.server);
  const streams = new Streams();
  const reads = new SharedReads(plane.driver);
  const readers = new TeamReaders(plane.driver);
  const closing = new AbortController();
  const metrics = new Metrics([
    ...operationNames,
    "metrics",
    MLFLOW_OPERATION,
    REMOTE_WRITE_OPERATION,
    OTLP_METRICS_OPERATION,
    "console",
    "other",
  ]);
  void countEvents(plane, metrics, closing.signal);
  readJson(app);
  addFailureHandlers(app, plane.log);
  addCounting(app, metrics);
  addAccess(app, { gate: plane.gate, connections, denials: plane.denials, nowMs: plane.nowMs });
  for (const name of operationNames) addOperation(app, { plane, streams, reads, readers, name });
  addPlainRoutes(app, { plane, streams, reads, metrics });
  addRemoteWriteRoute(app, plane);
  addOtlpMetricsRoute(app, plane);
  addMlflowRoutes(app, plane);
  addMlflowArtifactRoutes(app, plane);
  addConsoleRoutes(app, plane.gate, consoleDir);
  return {
    app,
    close: () => {
      closing.abort();
      return closeGently(app, streams);
    },
  };
}

function tlsOptions({ cert, key }: TlsPair): SecureServerOptions {
  return { cert, key, minVersion: TLS_VERSION_MIN, handshakeTimeout: REQUEST_TIMEOUT_MS };
}

/** Interval in ms at which new events are counted. Each count reads the state once. */
const COUNT_EVERY_MS = 1_000;
/** Maximum number of events that wait to be counted. Further events are not counted. */
const COUNTED_EVENTS_MAX = 50_000;

async function countEvents({ driver, log }: ControlPlane, metrics: Metrics, signal: AbortSignal): Promise<void> {
  let waiting: Event[] = [];
  let isDue = false;
  const count = (): void => {
    isDue = false;
    const events = waiting;
    waiting = [];
    driver
      .read((engine) => {
        for (const event of events) metrics.fleet.observe(event, engine);
      })
      // The control plane is closing, so the failure is expected.
      .catch(() => undefined);
  };
  try {
    for await (const { event } of driver.events(driver.status().sequence + 1, signal)) {
      if (event.kind !== "gangPlaced" && event.kind !== "workloadEnded") continue;
      if (waiting.length < COUNTED_EVENTS_MAX) waiting.push(event);
      if (isDue) continue;
      isDue = true;
      setTimeout(count, COUNT_EVERY_MS).unref();
    }
  } catch (error) {
    log.warn(`queue metrics are no longer updated: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function closeGently(app: FastifyInstance, streams: Streams): Promise<void> {
  streams.closeAll();
  const cut = setTimeout(() => app.server.closeAllConnections(), CLOSE_PATIENCE_MS);
  await app.close();
  clearTimeout(cut);
}

declare module "fastify" {
  interface FastifyRequest {
    arrivedAtMs: number;
  }
  interface FastifyContextConfig {
    /** Name of the operation under which the request is counted. */
    operation?: string;
  }
}

function addCounting(app: FastifyInstance, metrics: Metrics): void {
  app.decorateRequest("arrivedAtMs", 0);
  app.addHook("onRequest", (request, _reply, done) => {
    request.arrivedAtMs = performance.now();
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    const { operation } = request.routeOptions.config;
    metrics.record(operation ?? "other", reply.statusCode, performance.now() - request.arrivedAtMs);
    done();
  });
}

interface Bound {
  readonly plane: ControlPlane;
  readonly streams: Streams;
  readonly reads: SharedReads;
  readonly readers: TeamReaders;
  readonly name: OperationName;
}

function addOperation(app: FastifyInstance, bound: Bound): void {
  const operation: Operation = operations[bound.name];
  app.route({
    method: operation.method,
    url: operation.path.replace(/\{(\w+)\}/g, ":$1"),
    config: { operation: bound.name, access: operation.permission, row: operation },
    exposeHeadRoute: operation.method === "GET" && !operation.stream,
    handler: operation.stream
      ? streamRoute(bound, operation)
      : operation.bytes
        ? bytesRoute(bound, operation)
        : answerRoute(bound, operation),
  });
}

/** Returns a function that validates requests by the operation's schemas. The schemas are compiled once. */
function reader(operation: Operation): (request: FastifyRequest) => AnyCall {
  const params = compileIfAny(operation.params);
  const query = compileIfAny(operation.query);
  const body = operation.body === null ? null : compile(operation.body);
  return (request) => {
    const call = {
      params: params === null ? {} : parsed(params, request.params, "?"),
      query: query === null ? refuseAnyQuery(request) : parsed(query, request.query, "?"),
      body: body === null ? undefined : parsed(body, request.body, ""),
      actor: request.principal.actor,
      principal: request.principal,
      idempotencyKey: operation.method === "GET" ? null : idempotencyKeyOf(request.headers),
    };
    return call as AnyCall;
  };
}

function compileIfAny(schema: z.ZodObject): z.ZodObject | null {
  return Object.keys(schema.shape).length === 0 ? null : compile(schema);
}

function refuseAnyQuery(request: FastifyRequest): object {
  const [name] = Object.keys(request.query as object);
  if (name === undefined) return {};
  throw refuse("invalidRequest", `This address takes no parameters, but the request has ${name}.`, {
    errors: [{ pointer: `?${name}`, message: "is not a known parameter" }],
  });
}

function answerRoute({ plane, reads, readers, name }: Bound, operation: Operation) {
  const read = reader(operation);
  const checkItems = operation.body === null ? null : itemCheck(operation.body);
  const shared = sharedOperations[name];
  const handle = (handlers as unknown as Record<string, AnswerHandler>)[name] as AnswerHandler;
  const locates = name === "submitWorkload";
  // Answers about nothing that belongs to a team have no names of other teams' work. Tokens and artifacts are those of the
  // reader's teams, and views leave out what belongs to others.
  const isPlain = operation.subject === "any" || operation.subject === "token" || operation.tag === "artifacts";
  // Commands repeat the words of the request. A read would show which of its words are names.
  const repeats = operation.method !== "GET" && name !== "forecastWorkload";
  const seen = async ({ principal, params, query, body }: AnyCall, value: unknown): Promise<unknown> =>
    isPlain ? value : readers.seenBy(principal, value, repeats ? [params, query, body] : []);
  return (request: FastifyRequest, reply: FastifyReply): void => {
    void answer(request, reply);
  };

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      if (request.hasLargeBody) await checkItems?.(request.body);
      const call = read(request);
      await requireResources(plane, name, call);
      if (shared !== undefined) {
        const compute = async (): Promise<string> =>
          JSON.stringify(await seen(call, await handle(plane, call, () => new AbortController().signal)));
        const key = JSON.stringify([call.params, call.query, readerKey(call.principal)]);
        const bytes = await reads.answer(`${name} ${key}`, shared, compute);
        void reply.code(operation.status).headers(jsonHeaders).send(bytes);
        return;
      }
      const value = await seen(call, await handle(plane, call, () => goneSignal(reply)));
      void reply.code(operation.status).headers(jsonHeaders);
      if (locates) void reply.header("location", `/v1/workloads/${(value as { workloadId: string }).workloadId}`);
      void reply.send(JSON.stringify(value));
    } catch (error) {
      // A driver that has failed or closed answers no reads. Then the answer says so, and nothing else.
      const shown = await problemSeenBy(readers, request, error).catch((failure: unknown) => failure);
      sendProblem(request, reply, shown, plane.log);
    }
  }
}

/** The problem without names of other teams' work, but for those that the request contains. */
async function problemSeenBy(readers: TeamReaders, request: FastifyRequest, error: unknown): Promise<unknown> {
  const { principal, params, query, body, headers } = request;
  if (!(error instanceof ProblemError) || readsAllTeams(principal)) return error;
  const given = [params, query, body, headers["idempotency-key"]];
  return new ProblemError(await readers.seenBy(principal, error.problem, given));
}

/** A signal that aborts if the connection closes before the answer is complete. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once("close", () => controller.abort());
  if (raw.destroyed) controller.abort();
  return controller.signal;
}

function bytesRoute({ plane }: Bound, operation: Operation) {
  const read = reader(operation);
  const replies = new ByteReplies();
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const call = (): SnapshotCall => read(request) as SnapshotCall;
    replies
      .send(reply, async () => handlers.snapshot(plane, call(), () => goneSignal(reply)))
      .catch((error: unknown) => sendProblem(request, reply, error, plane.log));
  };
}

const jsonHeaders = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

function streamRoute({ plane, streams, name }: Bound, operation: Operation) {
  const read = reader(operation);
  const handle = (streamHandlers as unknown as Record<string, StreamHandler>)[name] as StreamHandler;
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const target = { request: request.raw, response: reply.raw };
    const source = async (wanted: StreamWanted): Promise<AsyncIterable<StreamPiece>> => {
      const call = read(request);
      await requireResources(plane, name, call);
      return handle(plane, name === "events" ? resumed(call, request.raw) : call, wanted);
    };
    streams
      .send(target, source, () => void reply.hijack())
      .catch((error: unknown) => {
        if (reply.sent) plane.log.error(`a stream failed: ${error instanceof Error ? error.stack : String(error)}`);
        else sendProblem(request, reply, error, plane.log);
      });
  };
}

/** A browser's `EventSource` sends the last event it received in a header (`Last-Event-ID`). */
function resumed(call: AnyCall, { headers }: IncomingMessage): AnyCall {
  const last = headers["last-event-id"];
  if (typeof last !== "string" || !/^[0-9]{1,15}$/.test(last)) return call;
  return { ...call, query: Object.assign({}, call.query, { from: Number(last) + 1 }) };
}

interface PlainRoutes extends Omit<Bound, "name" | "readers"> {
  readonly metrics: Metrics;
}

function addPlainRoutes(app: FastifyInstance, { plane, streams, reads, metrics }: PlainRoutes): void {
  const document = JSON.stringify(openApiDocument(plane.version));
  app.get("/v1/openapi.json", (_request, reply) => {
    void reply.headers(jsonHeaders).send(document);
  });
  app.get("/healthz", (_request, reply) => {
    const { phase, paused } = plane.driver.status();
    const health = phase !== "running" ? phase : paused !== null ? "paused" : "ok";
    void reply
      .code(health === "ok" ? 200 : 503)
      .headers(jsonHeaders)
      .send(JSON.stringify({ status: health }));
  });
  app.get("/readyz", (_request, reply) => {
    const reasons = notReady(plane.driver.status());
    void reply
      .code(reasons.length === 0 ? 200 : 503)
      .headers(jsonHeaders)
      .send(JSON.stringify({ status: reasons.length === 0 ? "ready" : "notReady", reasons }));
  });
  const expose = async (): Promise<string> => {
    const status = await handlers.status(plane, {} as never, () => new AbortController().signal);
    const fleet = await plane.driver.read((engine) => fleetFigures(engine, plane.accelerators.readings, plane.nowMs()));
    return metrics.expose({
      status,
      fleet,
      driver: plane.driver.status(),
      openStreams: streams.openCount,
      targets: plane.metricSourceService.counts,
    });
  };
  plane.metricSourceService.exposeWith(async () => String(await reads.answer("metrics", "joined", expose)));
  // Scrapers request /metrics by default; /v1/metrics is the address that the API documents.
  for (const url of ["/metrics", "/v1/metrics"])
    app.get(url, { config: { operation: "metrics", access: "status.read" } }, async (request, reply) => {
      try {
        return await reply.type(metrics.contentType).send(await reads.answer("metrics", "joined", expose));
      } catch (error) {
        sendProblem(request, reply, error, plane.log);
        return reply;
      }
    });
}
