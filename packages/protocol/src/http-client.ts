/** `HeadroomClient` over HTTP. `fetch` is a parameter, so that this file runs in Node and in browsers. */
import type { z } from "zod";
import type { Abort, CallOptions, CommandOptions, HeadroomClient } from "./client.ts";
import { linesOf, type ByteStream } from "./ndjson.ts";
import { operations, type Operation } from "./operations.ts";
import { ProblemError, isProblemCode, problem, problemOf, refuse, type ProblemPlace } from "./problems.ts";
import { snapshotHeaders, type Snapshot } from "./snapshot.ts";
import { USER_HEADER, checkedUser } from "./user.ts";

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

type QueryValue = string | number | boolean | readonly string[] | null | undefined;
type Query = Readonly<Record<string, QueryValue>>;

interface Call {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly options?: (CallOptions & CommandOptions) | undefined;
}

function urlOf(operation: Operation, call: Call): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(call.params?.[name] ?? ""));
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined && value !== null) pairs.push(`${name}=${encodeURIComponent(String(value))}`);
  }
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

class Http {
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

function modelCalls(http: Http): Pick<HeadroomClient, "declareModel" | "predictions" | "fleetPredictions"> {
  const o = operations;
  return {
    declareModel: (id, body, options) => http.call(o.declareModel, { params: { id }, body, options }),
    predictions: (id, options) => http.call(o.predictions, { params: { id }, options }),
    fleetPredictions: (options) => http.call(o.fleetPredictions, { options }),
  };
}

function planningCalls(http: Http): Pick<HeadroomClient, "size" | "plan" | "storePlan"> {
  const o = operations;
  return {
    size: (body, options) => http.call(o.size, { body, options }),
    plan: (options) => http.call(o.plan, { options }),
    storePlan: (body, { dryRun, ...options } = {}) => http.call(o.storePlan, { query: { dryRun }, body, options }),
  };
}

type TokenCalls = "createLoginLink" | "listTokens" | "createToken" | "revokeToken" | "listDenials" | "identity";

function tokenCalls(http: Http): Pick<HeadroomClient, TokenCalls> {
  const o = operations;
  return {
    createLoginLink: (options) => http.call(o.createLoginLink, { options }),
    listTokens: (query, options) => http.call(o.listTokens, { query: { ...query }, options }),
    createToken: (body, options) => http.call(o.createToken, { body, options }),
    revokeToken: (id, options) => http.call(o.revokeToken, { params: { id }, options }),
    listDenials: (options) => http.call(o.listDenials, { options }),
    identity: (options) => http.call(o.identity, { options }),
  };
}

function execCalls(http: Http): Pick<HeadroomClient, "startExec" | "execOutput" | "execInput" | "endExec"> {
  const o = operations;
  return {
    startExec: (id, body, options) => http.call(o.startExec, { params: { id }, body, options }),
    execOutput: (id, { signal } = {}) => http.stream(o.execOutput, { params: { id }, options: { signal } }),
    execInput: (id, body, options) => http.call(o.execInput, { params: { id }, body, options }),
    endExec: (id, options) => http.call(o.endExec, { params: { id }, options }),
  };
}

function fleetCalls(
  http: Http,
): Pick<
  HeadroomClient,
  | OrderCalls
  | IncidentCalls
  | ProposalCalls
  | PipelineCalls
  | ArtifactCalls
  | ExecutorCalls
  | "removeNode"
  | "removePool"
  | "removeSite"
> {
  const o = operations;
  return {
    ...orderCalls(http),
    ...incidentCalls(http),
    ...proposalCalls(http),
    ...pipelineCalls(http),
    ...artifactCalls(http),
    ...executorCalls(http),
    removeNode: (id, { force, ...options } = {}) =>
      http.call(o.removeNode, { params: { id }, query: { force }, options }),
    removePool: (name, { force, ...options } = {}) =>
      http.call(o.removePool, { params: { name }, query: { force }, options }),
    removeSite: (name, { force, ...options } = {}) =>
      http.call(o.removeSite, { params: { name }, query: { force }, options }),
  };
}

type ExecutorCalls =
  | "executors"
  | "declareExecutor"
  | "abandonExecutor"
  | "removeExecutor"
  | "stores"
  | "storeCaches"
  | "declareStore"
  | "removeStore";

function executorCalls(http: Http): Pick<HeadroomClient, ExecutorCalls> {
  const o = operations;
  return {
    executors: (options) => http.call(o.executors, { options }),
    declareExecutor: (name, body, options) => http.call(o.declareExecutor, { params: { name }, body, options }),
    abandonExecutor: (name, body, options) => http.call(o.abandonExecutor, { params: { name }, body, options }),
    removeExecutor: (name, options) => http.call(o.removeExecutor, { params: { name }, options }),
    stores: (options) => http.call(o.stores, { options }),
    storeCaches: (options) => http.call(o.storeCaches, { options }),
    declareStore: (name, body, options) => http.call(o.declareStore, { params: { name }, body, options }),
    removeStore: (name, options) => http.call(o.removeStore, { params: { name }, options }),
  };
}

type ProposalCalls =
  | "listProposals"
  | "getProposal"
  | "createProposal"
  | "simulateProposal"
  | "decideProposal"
  | "withdrawProposal"
  | "proposalRules"
  | "setProposalRule";

function proposalCalls(http: Http): Pick<HeadroomClient, ProposalCalls> {
  const o = operations;
  return {
    listProposals: (query, options) => http.call(o.listProposals, { query: { ...query }, options }),
    getProposal: (id, options) => http.call(o.getProposal, { params: { id }, options }),
    createProposal: (body, options) => http.call(o.createProposal, { body, options }),
    simulateProposal: (id, options) => http.call(o.simulateProposal, { params: { id }, options }),
    decideProposal: (id, body, options) => http.call(o.decideProposal, { params: { id }, body, options }),
    withdrawProposal: (id, body, options) => http.call(o.withdrawProposal, { params: { id }, body, options }),
    proposalRules: (options) => http.call(o.proposalRules, { options }),
    setProposalRule: (kind, body, options) => http.call(o.setProposalRule, { params: { kind }, body, options }),
  };
}

type PipelineCalls =
  | "listPipelines"
  | "getPipeline"
  | "removePipeline"
  | "startPipelineRun"
  | "triggerPipeline"
  | "listPipelineRuns"
  | "getPipelineRun"
  | "listPipelineSteps"
  | "cancelPipelineRun"
  | "retryPipelineRun"
  | "decidePipelineStep";

function pipelineCalls(http: Http): Pick<HeadroomClient, PipelineCalls> {
  const o = operations;
  return {
    listPipelines: (query, options) => http.call(o.listPipelines, { query: { ...query }, options }),
    getPipeline: (name, options) => http.call(o.getPipeline, { params: { name }, options }),
    removePipeline: (name, options) => http.call(o.removePipeline, { params: { name }, options }),
    startPipelineRun: (name, body, { dryRun, ...options } = {}) =>
      http.call(o.startPipelineRun, { params: { name }, query: { dryRun }, body, options }),
    triggerPipeline: (name, body, options) => http.call(o.triggerPipeline, { params: { name }, body, options }),
    listPipelineRuns: (query, options) => http.call(o.listPipelineRuns, { query: { ...query }, options }),
    getPipelineRun: (id, options) => http.call(o.getPipelineRun, { params: { id }, options }),
    listPipelineSteps: (id, query, options) =>
      http.call(o.listPipelineSteps, { params: { id }, query: { ...query }, options }),
    cancelPipelineRun: (id, options) => http.call(o.cancelPipelineRun, { params: { id }, options }),
    retryPipelineRun: (id, body, options) => http.call(o.retryPipelineRun, { params: { id }, body, options }),
    decidePipelineStep: (id, body, options) => http.call(o.decidePipelineStep, { params: { id }, body, options }),
  };
}

type ArtifactCalls =
  | "listArtifacts"
  | "registerArtifact"
  | "getArtifact"
  | "listArtifactVersions"
  | "getArtifactVersion"
  | "artifactLineage"
  | "changeArtifact";

function artifactCalls(http: Http): Pick<HeadroomClient, ArtifactCalls> {
  const o = operations;
  return {
    listArtifacts: (query, options) => http.call(o.listArtifacts, { query: { ...query }, options }),
    registerArtifact: (body, options) => http.call(o.registerArtifact, { body, options }),
    getArtifact: (artifact, options) => http.call(o.getArtifact, { params: { artifact }, options }),
    listArtifactVersions: (artifact, query, options) =>
      http.call(o.listArtifactVersions, { params: { artifact }, query: { ...query }, options }),
    getArtifactVersion: (artifact, options) => http.call(o.getArtifactVersion, { params: { artifact }, options }),
    artifactLineage: (artifact, query, options) =>
      http.call(o.artifactLineage, { params: { artifact }, query: { ...query }, options }),
    changeArtifact: (artifact, body, options) => http.call(o.changeArtifact, { params: { artifact }, body, options }),
  };
}

type IncidentCalls = "listIncidents" | "getIncident" | "annotateIncident" | "fleetHealth" | "reportFaults";

function incidentCalls(http: Http): Pick<HeadroomClient, IncidentCalls> {
  const o = operations;
  return {
    listIncidents: (query, options) => http.call(o.listIncidents, { query: { ...query }, options }),
    getIncident: (id, options) => http.call(o.getIncident, { params: { id }, options }),
    annotateIncident: (id, body, options) => http.call(o.annotateIncident, { params: { id }, body, options }),
    fleetHealth: (options) => http.call(o.fleetHealth, { options }),
    reportFaults: (id, body, options) => http.call(o.reportFaults, { params: { id }, body, options }),
  };
}

type OrderCalls =
  | "endpoints"
  | "steerRollout"
  | "reportLoad"
  | "listCapacityOrders"
  | "getCapacityOrder"
  | "createCapacityOrder"
  | "advanceCapacityOrder"
  | "cancelCapacityOrder";

function orderCalls(http: Http): Pick<HeadroomClient, OrderCalls> {
  const o = operations;
  return {
    endpoints: (options) => http.call(o.endpoints, { options }),
    steerRollout: (id, body, options) => http.call(o.steerRollout, { params: { id }, body, options }),
    reportLoad: (id, body, options) => http.call(o.reportLoad, { params: { id }, body, options }),
    listCapacityOrders: (query, options) => http.call(o.listCapacityOrders, { query: { ...query }, options }),
    getCapacityOrder: (name, options) => http.call(o.getCapacityOrder, { params: { name }, options }),
    createCapacityOrder: (body, { dryRun, ...options } = {}) =>
      http.call(o.createCapacityOrder, { query: { dryRun }, body, options }),
    advanceCapacityOrder: (name, body, { dryRun, ...options } = {}) =>
      http.call(o.advanceCapacityOrder, { params: { name }, query: { dryRun }, body, options }),
    cancelCapacityOrder: (name, body, { dryRun, ...options } = {}) =>
      http.call(o.cancelCapacityOrder, { params: { name }, query: { dryRun }, body, options }),
  };
}

/** Calls any row of the operations table, for clients that are derived from the table. Streams and bytes are not possible. */
export type OperationCaller = (
  operation: Operation,
  call: Pick<Call, "params" | "query" | "body"> & { readonly signal?: Abort },
) => Promise<unknown>;

export function createOperationCaller(options: HttpClientOptions): OperationCaller {
  if (options.user !== undefined) checkedUser(options.user);
  const http = new Http(options);
  return (operation, { signal, ...call }) => http.call(operation, { ...call, options: { signal } });
}

/**
 * Client of the control plane at `baseUrl`. Throws if `user` is not a valid user name, because the header could then
 * name another user.
 */
export function createHttpClient(options: HttpClientOptions): HeadroomClient {
  if (options.user !== undefined) checkedUser(options.user);
  const http = new Http(options);
  const o = operations;
  return {
    listWorkloads: (query, options) => http.call(o.listWorkloads, { query: { ...query }, options }),
    getWorkload: (id, options) => http.call(o.getWorkload, { params: { id }, options }),
    submitWorkload: (body, options) => http.call(o.submitWorkload, { body, options }),
    changeWorkload: (id, body, { dryRun, ...options } = {}) =>
      http.call(o.changeWorkload, {
        params: { id },
        query: dryRun === true ? { dryRun: true } : {},
        body,
        options,
      }),
    stopWorkload: (id, { task, ...options } = {}) =>
      http.call(o.stopWorkload, { params: { id }, query: { task }, options }),
    holdWorkload: (id, options) => http.call(o.holdWorkload, { params: { id }, options }),
    rerunWorkload: (id, options) => http.call(o.rerunWorkload, { params: { id }, options }),
    releaseWorkload: (id, options) => http.call(o.releaseWorkload, { params: { id }, options }),
    explainWorkload: (id, options) => http.call(o.explainWorkload, { params: { id }, options }),
    startingChanges: (id, options) => http.call(o.startingChanges, { params: { id }, options }),
    estimateStart: (id, options) => http.call(o.estimateStart, { params: { id }, options }),
    expectedStarts: (query, options) => http.call(o.expectedStarts, { query: { ...query }, options }),
    forecastWorkload: (body, options) => http.call(o.forecastWorkload, { body, options }),
    whatIf: (body, options) => http.call(o.whatIf, { body, options }),
    snapshot: (query, options) => http.snapshot({ query: { ...query }, options }),
    startReplay: (body, options) => http.call(o.startReplay, { body, options }),
    replay: (id, options) => http.call(o.replay, { params: { id }, options }),
    cancelReplay: (id, options) => http.call(o.cancelReplay, { params: { id }, options }),
    workloadHistory: (id, query, options) =>
      http.call(o.workloadHistory, { params: { id }, query: { ...query }, options }),
    queue: (query, options) => http.call(o.queue, { query: { ...query }, options }),
    apply: (body, options) =>
      http.call(o.apply, { body, query: { dryRun: options?.dryRun, forecast: options?.forecast }, options }),
    gateway: (options) => http.call(o.gateway, { options }),
    waste: (query, options) => http.call(o.waste, { query: { ...query }, options }),
    defragmentation: (options) => http.call(o.defragmentation, { options }),
    capacityHistory: (options) => http.call(o.capacityHistory, { options }),
    fleet: (options) => http.call(o.fleet, { options }),
    listNodes: (page, options) => http.call(o.listNodes, { query: { ...page }, options }),
    getNode: (id, options) => http.call(o.getNode, { params: { id }, options }),
    acceleratorReadings: (page, options) => http.call(o.acceleratorReadings, { query: { ...page }, options }),
    series: (query, options) => http.call(o.series, { query: { ...query }, options }),
    nodeTelemetry: (id, query, options) => http.call(o.nodeTelemetry, { params: { id }, query: { ...query }, options }),
    drainNode: (id, options) =>
      http.call(o.drainNode, { params: { id }, body: { running: options?.running ?? "wait" }, options }),
    resumeNode: (id, options) => http.call(o.resumeNode, { params: { id }, options }),
    ...fleetCalls(http),
    noticeNode: (id, body, options) => http.call(o.noticeNode, { params: { id }, body, options }),
    withdrawNotice: (id, options) => http.call(o.withdrawNotice, { params: { id }, options }),
    teams: (page, options) => http.call(o.teams, { query: { ...page }, options }),
    removeTeam: (name, options) => http.call(o.removeTeam, { params: { name }, options }),
    schedules: (options) => http.call(o.schedules, { options }),
    removeSchedule: (name, options) => http.call(o.removeSchedule, { params: { name }, options }),
    calendar: (options) => http.call(o.calendar, { options }),
    removeCalendarEntry: (name, options) => http.call(o.removeCalendarEntry, { params: { name }, options }),
    policy: (options) => http.call(o.policy, { options }),
    setPolicy: (body, options) => http.call(o.setPolicy, { body, options }),
    presets: (options) => http.call(o.presets, { options }),
    ...planningCalls(http),
    events: ({ from, signal } = {}) => http.stream(o.events, { query: { from }, options: { signal } }),
    logs: (id, { signal, ...query } = {}) => http.stream(o.logs, { params: { id }, query, options: { signal } }),
    ...execCalls(http),
    ...modelCalls(http),
    usage: (id, options) => http.call(o.usage, { params: { id }, options }),
    metrics: (id, query, options) => http.call(o.metrics, { params: { id }, query: { ...query }, options }),
    status: (options) => http.call(o.status, { options }),
    ...tokenCalls(http),
  };
}
