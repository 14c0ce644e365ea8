/** Starts a gateway from a checked configuration and stops it without losing a stream. */
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import path from "node:path";
import { createServer as createTlsServer } from "node:tls";
import {
  isLoopback,
  lockDirectory,
  makeDirectory,
  OperationalError,
  readTlsFiles,
  renewTls,
  TLS_VERSION_MIN,
  type DirectoryLock,
} from "@headroom/platform";
import { checkAddresses } from "../config/exposure.ts";
import type { ListenAddress } from "../config/quantities.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { ResponseOwners } from "../access/response-owners.ts";
import { BatchStore } from "../batches/store.ts";
import { ClientConnection } from "../http/client-connection.ts";
import type { TableEntry } from "../http/connection-table.ts";
import { headerValueOf } from "../config/secrets.ts";
import type { LimitSource } from "../limits/account.ts";
import type { LimitDefinition } from "../limits/ledger.ts";
import type { ServingState } from "../protocols/health.ts";
import { limitsOf } from "./shared-limits.ts";
import { Fleet } from "../replicas/fleet.ts";
import { Prober } from "../replicas/prober.ts";
import { Waker } from "../replicas/waker.ts";
import { AccessLog } from "../telemetry/access-log.ts";
import { GatewayMetrics, type GatewayGauges } from "../telemetry/metrics.ts";
import { RequestRing } from "../telemetry/request-ring.ts";
import { limitStates, type LimitState } from "../telemetry/team-metrics.ts";
import { Tracer } from "../telemetry/tracer.ts";
import { UsageLog } from "../usage/usage-log.ts";
import { createAdminServer } from "./admin.ts";
import { keyRoutes, type KeyAdmin } from "./admin-keys.ts";
import { limitedTeams, limitRoutes } from "./admin-limits.ts";
import { requestRoutes, type RequestSources } from "./admin-requests.ts";
import { pageAnswers } from "./admin-page.ts";
import { adminTokenOf, stateDirectoryOf } from "./admin-token.ts";
import { connectionBound } from "./connection-bound.ts";
import { FollowedEndpoints } from "./followed-endpoints.ts";
import { Gateway } from "./gateway.ts";
import { overviewRoutes } from "./overview.ts";
import { reloads } from "./reload.ts";

export interface StartOptions {
  /** Prints a message for the operator. */
  log(line: string): void;
  /** The file of keys that the admin address changes. Undefined if the gateway has none. */
  readonly keys?: KeyAdmin;
  /** Folder of the built console, which has the page of the admin address. */
  readonly consoleDirectory?: string;
}

export interface RunningGateway {
  readonly url: string;
  readonly adminUrl: string | undefined;
  /** Token of the admin address. */
  readonly adminToken: string;
  /**
   * Applies another configuration. Unchanged replicas keep their connections. Changes of listening addresses and of the
   * state folder need a restart. Rejects, before anything has changed, if the configuration cannot be applied.
   */
  apply(config: GatewayConfig): Promise<void>;
  /**
   * Opens the access log again after it was renamed for rotation. Throws if the new file cannot be opened; the open
   * file then stays in use.
   */
  reopenLog(): void;
  /**
   * Stops accepting requests, waits until the streams have ended, at most `shutdownTimeout`, and then closes. It may be
   * called more than once.
   */
  close(): Promise<void>;
}

/** Length of the queue of new connections. The kernel uses the minimum of this and net.core.somaxconn. */
const BACKLOG = 4096;
const SWEEP_MS = 1000;
const FIRST_REQUEST_MS = 300;
/** Number of handshakes that may begin while every counted connection is in use. */
const HANDSHAKES_SPARE = 64;
/** Minimum time between two messages about connections that could not be accepted, in ms. */
const ACCEPT_LOG_MS = 10_000;
const FIRST_PROBE_MS = 1000;
/**
 * Maximum wait for settlements. It is longer than the time for which a gateway reads a response after its client has
 * left.
 */
const SETTLE_TIMEOUT_MS = 2000;

const { timeOrigin } = performance;

/** Wall-clock time in milliseconds that never goes back. */
function steadyNow(): number {
  return timeOrigin + performance.now();
}

/**
 * Rejects with an `OperationalError` if another process uses the same state folder, or if an address is reachable from
 * other machines without TLS.
 */
export async function startGateway(config: GatewayConfig, options: StartOptions): Promise<RunningGateway> {
  for (const warning of checkAddresses(config)) options.log(`warning: ${warning}`);
  const stateDirectory = stateDirectoryOf(config);
  const lock = lockState(stateDirectory, config.id);
  try {
    const gateway = await startLocked(config, options, stateDirectory);
    let closed: Promise<void> | undefined;
    const close = (): Promise<void> => (closed ??= gateway.close().finally(() => lock.release()));
    return { ...gateway, close };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * Locks the state folder. Two processes would give their usage records the same sequence numbers, and a reader would
 * settle only one of two records with the same number.
 */
function lockState(directory: string, id: string): DirectoryLock {
  makeDirectory(directory, 0o700);
  const outcome = lockDirectory(directory, Date.now());
  if (outcome.kind === "locked") return outcome.lock;
  throw new OperationalError(
    "gatewayStateInUse",
    `A gateway with the id ${id} is already running on ${directory} (${outcome.holder}). Give this one another id (--id, or \`id\` in its configuration) or another \`state\` folder, or stop the other one first.`,
  );
}

/**
 * Parts that a start has opened, in order. If the start fails, they are ended in reverse order, because their timers
 * and sockets would keep the process alive.
 */
class Opened {
  readonly #ends: (() => unknown)[] = [];

  add(end: () => unknown): void {
    this.#ends.push(end);
  }

  async endAll(): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) await end();
  }
}

async function startLocked(
  config: GatewayConfig,
  options: StartOptions,
  stateDirectory: string,
): Promise<RunningGateway> {
  const opened = new Opened();
  try {
    return await startParts(config, options, { stateDirectory, opened });
  } catch (error) {
    await opened.endAll();
    throw error;
  }
}

async function startParts(
  config: GatewayConfig,
  options: StartOptions,
  { stateDirectory, opened }: { readonly stateDirectory: string; readonly opened: Opened },
): Promise<RunningGateway> {
  const now = steadyNow;
  const log = (line: string): void => options.log(line);
  const fleet = new Fleet(config, Math.floor(now()));
  const usageDirectory = path.join(stateDirectory, "usage");
  const usage = new UsageLog({
    directory: usageDirectory,
    segmentBytes: config.usage.segment,
    sync: config.usage.sync,
    log,
  });
  opened.add(() => usage.close());
  const metrics = new GatewayMetrics();
  const ring = new RequestRing();
  const waker = new Waker({ directory: config.state, now, log, waits: () => void followed.poke() });
  const tracer = tracerOf(config);
  if (tracer !== undefined) opened.add(() => tracer.close());
  const accessLog =
    config.accessLog === undefined ? undefined : new AccessLog(config.accessLog.file, config.accessLog.prompts);
  const limits = await limitsOf(config, { now, log, life: usage.life, directory: usageDirectory });
  opened.add(() => limits.close());
  const batches = new BatchStore(path.join(stateDirectory, "batches"), config.batches.storage);
  const owners = ResponseOwners.of(config);
  const parts = { batches, owners, fleet, limits, usage, metrics, ring, waker, accessLog, tracer, now, log };
  const gateway = new Gateway(config, parts);
  const prober = new Prober(
    () => fleet.pools.values(),
    now,
    (pool) => waker.check(pool),
  );
  opened.add(() => prober.stop());
  let active = config;
  const { callers } = gateway;
  const followedParts = { callers, fleet, waker, limits, usage, usageDirectory, stateDirectory, now, log };
  const followed = new FollowedEndpoints(config, { ...followedParts, active: () => active });
  opened.add(() => followed.stop());
  await followed.start();
  prober.start();
  await prober.firstRound(FIRST_PROBE_MS);
  const listener = createListener(config, gateway, log);
  opened.add(() => listener.close());
  const address = await listening(listener.server, { ...config.listen, reusePort: config.reusePort }, log);
  const url = config.tls === undefined ? address : address.replace("http:", "https:");
  const adminToken = adminTokenOf(config, stateDirectory);
  const requests = { ring, directory: usageDirectory, now };
  const adminParts = { ...parts, url, config, gateway, requests, adminToken, options };
  const admin = adminOf({ ...adminParts, active: () => active });
  opened.add(() => admin.close());
  const adminUrl = config.admin === undefined ? undefined : await listening(admin, config.admin, log);
  resumeBatches(gateway, log);
  const apply = reloads(config, { gateway, usage, limits, directory: usageDirectory, now, log });
  const sweeper = setInterval(() => gateway.sweep(), SWEEP_MS);
  return {
    url,
    adminUrl,
    adminToken,
    apply: async (next) => {
      await apply(next);
      active = next;
    },
    reopenLog: () => accessLog?.reopen(),
    close: closing({ ...parts, config, gateway, prober, followed, sweeper, admin, listener }),
  };
}

interface RunningParts {
  readonly config: GatewayConfig;
  readonly gateway: Gateway;
  readonly fleet: Fleet;
  readonly limits: LimitSource;
  readonly usage: UsageLog;
  readonly accessLog: AccessLog | undefined;
  readonly tracer: Tracer | undefined;
  readonly waker: Waker;
  readonly batches: BatchStore;
  readonly prober: Prober;
  readonly followed: FollowedEndpoints;
  readonly sweeper: NodeJS.Timeout;
  readonly admin: HttpServer;
  readonly listener: Listener;
}

/** Ends the parts in order: first nothing new is taken, and last the usage file is closed. */
function closing(parts: RunningParts): () => Promise<void> {
  const { config, gateway, fleet, limits, usage, accessLog, tracer, waker, batches, prober } = parts;
  return async () => {
    gateway.isDraining = true;
    parts.listener.close();
    gateway.batchRunner.stop();
    waker.close();
    await drained(gateway, config.bounds.shutdownTimeout);
    for (const connection of gateway.connections) connection.destroy();
    await settled(gateway);
    await batches.idle();
    gateway.shadow.stop();
    prober.stop();
    parts.followed.stop();
    clearInterval(parts.sweeper);
    parts.admin.close();
    parts.admin.closeAllConnections();
    for (const pool of fleet.pools.values()) for (const replica of pool.replicas.values()) replica.connections.close();
    limits.close();
    accessLog?.close();
    await tracer?.close();
    usage.close();
  };
}

function tracerOf({ tracing, id }: GatewayConfig): Tracer | undefined {
  if (tracing === undefined) return undefined;
  const headers = Object.fromEntries(
    Object.entries(tracing.headers).map(([name, value]) => [name, headerValueOf(value)]),
  );
  return new Tracer({ ...tracing, headers, gatewayId: id });
}

function resumeBatches(gateway: Gateway, log: StartOptions["log"]): void {
  const fails = (error: unknown): void => log(`batches of earlier processes cannot be read: ${String(error)}`);
  void gateway.batchRunner.resume().catch(fails);
}

function adminOf(parts: {
  readonly gateway: Gateway;
  readonly fleet: Fleet;
  readonly metrics: GatewayMetrics;
  readonly waker: Waker;
  readonly accessLog: AccessLog | undefined;
  readonly tracer: Tracer | undefined;
  readonly config: GatewayConfig;
  readonly limits: LimitSource;
  readonly requests: RequestSources;
  readonly url: string;
  readonly adminToken: string;
  readonly options: StartOptions;
  /** The configuration that was applied last. */
  active(): GatewayConfig;
}): HttpServer {
  const { config, gateway, fleet, metrics, waker, accessLog, tracer, options, active } = parts;
  const used = (definition: LimitDefinition): number => parts.limits.used(definition);
  const limits = (): readonly LimitState[] => limitStates(limitedTeams(active()), used);
  const gauges = (): GatewayGauges => ({
    connections: gateway.connections.size,
    exchanges: gateway.exchanges.size,
    bodyBytes: gateway.bodies.usedBytes,
    answerBytes: gateway.answers.usedBytes,
    droppedLogLines: accessLog?.droppedCount ?? 0,
    droppedSpans: tracer?.droppedCount ?? 0,
    held: waker.heldCount,
    pools: fleet.pools.values(),
    used,
    limits: [],
  });
  const servingState = (): ServingState => gateway.servingState();
  const { ring } = parts.requests;
  const overview = { url: parts.url, metrics, ring, startedAtMs: steadyNow(), active, gauges, servingState, used };
  return createAdminServer({
    token: parts.adminToken,
    isLocal: config.admin === undefined || isLoopback(config.admin.host),
    routes: [
      keyRoutes(options.keys, active),
      requestRoutes(parts.requests),
      limitRoutes(limits),
      overviewRoutes(overview),
    ],
    hosts: config.admin === undefined ? config.adminHosts : [...config.adminHosts, config.admin.host],
    fleet,
    metrics,
    gauges: () => ({ ...gauges(), limits: limits() }),
    page: pageAnswers(options.consoleDirectory),
    servingState,
    now: steadyNow,
  });
}

interface Listener {
  readonly server: Server;
  /** Accepts no more connections, and ends the watch on the certificate. */
  close(): void;
}

function createListener(config: GatewayConfig, gateway: Gateway, log: StartOptions["log"]): Listener {
  const connectionsMax = connectionBound(config.bounds.connections, log);
  const { connections } = gateway;
  connections.connectionsMax = connectionsMax;
  const accept = (socket: Socket): void => {
    if (connections.makeRoom()) connections.add(new ClientConnection(socket, gateway));
    else socket.destroy();
  };
  if (config.tls === undefined) {
    const server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000, pauseOnConnect: true },
      accept,
    );
    return { server, close: () => void server.close() };
  }
  const { cert, key } = readTlsFiles(config.tls);
  const server = createTlsServer(
    {
      // A client that does not finish its handshake has sent no request head in time.
      handshakeTimeout: config.bounds.headTimeout,
      cert,
      key,
      ALPNProtocols: ["http/1.1"],
      noDelay: true,
      minVersion: TLS_VERSION_MIN,
    },
    accept,
  );
  countHandshakes(server, gateway);
  // `makeRoom` keeps below this: only if every connection is in use does the kernel's queue wait.
  server.maxConnections = connectionsMax + HANDSHAKES_SPARE;
  // Node only reports a handshake that failed or took too long.
  server.on("tlsClientError", (_, socket) => socket.destroy());
  const stopRenewal = renewTls({
    server,
    files: config.tls,
    renewed: () => log("the certificate was read again; new connections get it"),
    failed: (message) => log(`the gateway continues with the earlier certificate: ${message}`),
  });
  return {
    server,
    close: () => {
      stopRenewal();
      server.close();
    },
  };
}

/** Counts connections from the moment they are accepted: `accept` is called only after the handshake. */
function countHandshakes(server: Server, { connections }: Gateway): void {
  server.prependListener("connection", (raw: Socket) => {
    const entry = {
      address: raw.remoteAddress ?? "",
      isEvictable: true,
      isKnown: false,
      destroy: () => void raw.destroy(),
    };
    const isCounted = connections.makeRoom();
    const key = placeOf(raw);
    if (isCounted) {
      connections.addHandshake(entry);
      handshakes.set(key, entry);
    }
    raw.once("close", () => {
      connections.delete(entry);
      if (handshakes.get(key) === entry) handshakes.delete(key);
    });
  });
  const handshakes = new Map<string, TableEntry>();
  server.prependListener("secureConnection", (socket: Socket) => {
    const entry = handshakes.get(placeOf(socket));
    if (entry !== undefined) connections.delete(entry);
    handshakes.delete(placeOf(socket));
  });
}

function placeOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress ?? ""} ${remotePort ?? 0}`;
}

async function listening(
  server: Server,
  address: ListenAddress & { readonly reusePort?: boolean },
  log: StartOptions["log"],
): Promise<string> {
  const { host, port, reusePort = false } = address;
  server.listen({ host, port, backlog: BACKLOG, reusePort });
  await once(server, "listening");
  survivesAcceptErrors(server, log);
  const bound = server.address();
  const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
  return `http://${host.includes(":") ? `[${host}]` : host}:${boundPort}`;
}

/**
 * While no file descriptor is free, accepting a connection fails. Only that connection is lost; without this listener
 * the process would end.
 */
function survivesAcceptErrors(server: Server, log: StartOptions["log"]): void {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  server.on("error", (error) => {
    if (performance.now() - loggedAtMs < ACCEPT_LOG_MS) return;
    loggedAtMs = performance.now();
    log(`a connection could not be accepted: ${error.message}`);
  });
}

/**
 * Waits until the requests that are cut off, batch requests too, are settled. Only then can the usage file be closed.
 */
async function settled(gateway: Gateway): Promise<void> {
  gateway.exchanges.forEach((exchange) => exchange.clientGone());
  const untilMs = performance.now() + SETTLE_TIMEOUT_MS;
  while (gateway.exchanges.size > 0 && performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Closes idle connections immediately, and the other connections after their responses. */
async function drained(gateway: Gateway, timeoutMs: number): Promise<void> {
  const startedAtMs = performance.now();
  for (;;) {
    const elapsedMs = performance.now() - startedAtMs;
    for (const connection of gateway.connections) {
      // The first request of a new connection may still be in transit.
      const mayCome = connection.requestCount === 0 && elapsedMs < FIRST_REQUEST_MS;
      if (connection.isIdle && !mayCome) connection.destroy();
    }
    const isDone = gateway.connections.size === 0 && gateway.exchanges.size === 0;
    if (isDone || elapsedMs > timeoutMs) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
