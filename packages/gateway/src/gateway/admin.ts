/**
 * The operator's address: metrics, health, replicas, drain. It has no authentication and must not face clients. Names
 * that it does not know are refused: a web page whose name resolves to this address (DNS rebinding) would send its own.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isLoopback } from "../config/quantities.ts";
import type { Fleet } from "../replicas/fleet.ts";
import type { GatewayGauges, GatewayMetrics } from "../telemetry/metrics.ts";

export interface AdminParts {
  /** Names and addresses, besides those of this machine's loopback, that a request may give as its host. */
  readonly hosts: readonly string[];
  readonly fleet: Fleet;
  readonly metrics: GatewayMetrics;
  gauges(): GatewayGauges;
  isDraining(): boolean;
  now(): number;
}

export function createAdminServer(parts: AdminParts): Server {
  const hosts = new Set(parts.hosts.map((host) => host.toLowerCase()));
  return createServer({ requestTimeout: 10_000 }, (request, response) => {
    request.resume();
    if (!isKnownHost(request, hosts)) {
      const error = "The request names another host. Use the address itself, or list the name under `adminHosts`.";
      reply(response, 403, { error });
      return;
    }
    const target = request.url ?? "/";
    if (!URL.canParse(target, "http://admin")) {
      reply(response, 400, { error: "The request's target is not a path." });
      return;
    }
    const url = new URL(target, "http://admin");
    // Protects against cross-site requests: a web page in a browser cannot set this header without a preflight request.
    const isWrite = request.method === "POST";
    if (isWrite && request.headers["x-headroom-admin"] === undefined) {
      reply(response, 403, { error: "Send the header `x-headroom-admin: 1` with changes." });
      return;
    }
    if (isWrite) change(parts, url, response);
    else read(parts, url.pathname, response);
  });
}

/** Whether the request names a listed host, this machine's loopback, or the address at which it arrived. */
function isKnownHost({ headers, socket }: IncomingMessage, hosts: ReadonlySet<string>): boolean {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(headers.host ?? "");
  const name = (match?.[1] ?? match?.[2])?.toLowerCase();
  if (name === undefined) return false;
  const own = socket.localAddress?.replace(/^::ffff:/, "");
  return isLoopback(name) || hosts.has(name) || name === own;
}

function read(parts: AdminParts, path: string, response: ServerResponse): void {
  const nowMs = parts.now();
  switch (path) {
    case "/metrics":
      response
        .writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
        .end(parts.metrics.text(parts.gauges(), nowMs));
      return;
    case "/health":
      reply(response, parts.isDraining() ? 503 : 200, { status: parts.isDraining() ? "draining" : "ok" });
      return;
    case "/replicas":
      reply(response, 200, {
        replicas: [...parts.fleet.pools.values()].flatMap((pool) =>
          [...pool.replicas.values()].map((replica) => ({
            pool: pool.name,
            id: replica.id,
            url: replica.url.text,
            health: replica.health,
            isAvailable: replica.isAvailable(nowMs),
            isDraining: replica.isDraining,
            isBackingOff: nowMs < replica.backOffUntilMs,
            isBreakerClosed: replica.breaker.isClosed,
            requests: replica.requestCount,
            connections: replica.connections.openCount,
            load: replica.load,
          })),
        ),
      });
      return;
    default:
      reply(response, 404, { error: "There are /metrics, /health, /replicas and, as POST, /drain and /undrain." });
  }
}

function change(parts: AdminParts, url: URL, response: ServerResponse): void {
  const isDraining = url.pathname === "/drain";
  const pool = url.searchParams.get("pool") ?? "";
  const replica = url.searchParams.get("replica") ?? "";
  if (!isDraining && url.pathname !== "/undrain") {
    reply(response, 404, { error: "POST /drain or /undrain, with ?pool=NAME&replica=ID." });
    return;
  }
  const isKnown = parts.fleet.drain(pool, replica, { isDraining, nowMs: parts.now() });
  if (isKnown) reply(response, 200, { pool, replica, isDraining });
  else reply(response, 404, { error: `Pool ${pool} has no replica ${replica}. See /replicas.` });
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
