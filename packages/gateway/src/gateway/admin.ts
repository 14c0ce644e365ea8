/**
 * The operator's address: metrics, health, replicas, drain, keys. Everything but health, the page itself and, on this
 * machine alone, `/metrics` needs the token. Names that the address does not know are refused: a web page whose
 * name resolves to it (DNS rebinding) would send its own.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isLoopback } from "@headroom/platform";
import { healthAnswer, type ServingState } from "../protocols/health.ts";
import type { Fleet } from "../replicas/fleet.ts";
import type { GatewayGauges, GatewayMetrics } from "../telemetry/metrics.ts";
import { refusal, type AdminAnswer, type AdminRequest, type AdminRoutes } from "./admin-answer.ts";
import type { PageAnswer } from "./admin-page.ts";
import { isToken } from "./admin-token.ts";

export interface AdminParts {
  /** Names and addresses, besides those of this machine's loopback, that a request may give as its host. */
  readonly hosts: readonly string[];
  readonly token: string;
  /** Whether only this machine reaches the address. Scrapers need no token then. */
  readonly isLocal: boolean;
  readonly fleet: Fleet;
  readonly metrics: GatewayMetrics;
  readonly page: PageAnswer;
  /** Further routes, all of which need the token. */
  readonly routes: readonly AdminRoutes[];
  gauges(): GatewayGauges;
  servingState(): ServingState;
  now(): number;
}

const BODY_BYTES_MAX = 65_536;

export function createAdminServer(parts: AdminParts): Server {
  const hosts = new Set(parts.hosts.map((host) => host.toLowerCase()));
  return createServer({ requestTimeout: 10_000 }, (request, response) => {
    void answerOf(parts, hosts, request, response)
      .catch((error: unknown) => refusal(500, error instanceof Error ? error.message : String(error)))
      .then((answer) => answer === undefined || reply(response, answer));
  });
}

/** The answer. Undefined if the request was answered with a file of the page. */
async function answerOf(
  parts: AdminParts,
  hosts: ReadonlySet<string>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AdminAnswer | undefined> {
  const text = await bodyOf(request);
  if (!isKnownHost(request, hosts))
    return refusal(403, "The request names another host. Use the address itself, or list the name under `adminHosts`.");
  const target = request.url ?? "/";
  if (!URL.canParse(target, "http://admin")) return refusal(400, "The request's target is not a path.");
  const url = new URL(target, "http://admin");
  const { method = "GET" } = request;
  const open = openAnswer(parts, method, url.pathname);
  if (open !== undefined) return open;
  if (parts.page(request, url.pathname, response)) return undefined;
  // Protects against cross-site requests: a web page in a browser cannot set this header without a preflight request.
  if (method !== "GET" && request.headers["x-headroom-admin"] === undefined)
    return refusal(403, "Send the header `x-headroom-admin: 1` with changes.");
  const [, presented = ""] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
  if (!isToken(presented, parts.token)) {
    const message =
      "Send the admin token as `Authorization: Bearer TOKEN`. The gateway keeps it in STATE/ID/admin-token, unless `adminToken` names another place.";
    return refusal(401, message);
  }
  if (text === undefined) return refusal(413, `The body is larger than ${BODY_BYTES_MAX} bytes.`);
  const body = jsonOf(text);
  if (body === undefined) return refusal(400, "The body is not valid JSON.");
  return routed(parts, { method, path: url.pathname, query: url.searchParams, body });
}

/** The body's text. Undefined if it is too large; the rest of it is not kept. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return length > BODY_BYTES_MAX ? undefined : Buffer.concat(chunks).toString("utf8");
}

function jsonOf(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Whether the request names a listed host, this machine's loopback, or the address at which it arrived. */
function isKnownHost({ headers, socket }: IncomingMessage, hosts: ReadonlySet<string>): boolean {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(headers.host ?? "");
  const name = (match?.[1] ?? match?.[2])?.toLowerCase();
  if (name === undefined) return false;
  const own = socket.localAddress?.replace(/^::ffff:/, "");
  return isLoopback(name) || hosts.has(name) || name === own;
}

/** Answers that need no token. */
function openAnswer(parts: AdminParts, method: string, path: string): AdminAnswer | undefined {
  if (method !== "GET") return undefined;
  const health = healthAnswer(path, parts.servingState());
  if (health !== undefined) return { status: health.status, body: health.body.toString() };
  return path === "/metrics" && parts.isLocal ? metricsOf(parts) : undefined;
}

function metricsOf({ metrics, gauges, now }: AdminParts): AdminAnswer {
  return { status: 200, body: metrics.text(gauges(), now()), type: "text/plain; version=0.0.4; charset=utf-8" };
}

async function routed(parts: AdminParts, request: AdminRequest): Promise<AdminAnswer> {
  for (const routes of parts.routes) {
    const answer = await routes(request);
    if (answer !== undefined) return answer;
  }
  if (request.method === "POST") return changed(parts, request);
  if (request.path === "/metrics") return metricsOf(parts);
  if (request.path === "/replicas") return { status: 200, body: { replicas: replicasOf(parts) } };
  return refusal(
    404,
    "There are /metrics, /health, /healthz, /readyz, /replicas, /v1/keys, /v1/limits, /v1/overview, /v1/requests, /v1/requests/ID and, as POST, /drain and /undrain.",
  );
}

function replicasOf({ fleet, now }: AdminParts): readonly object[] {
  const nowMs = now();
  return [...fleet.pools.values()].flatMap((pool) =>
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
  );
}

function changed({ fleet, now }: AdminParts, { path, query }: AdminRequest): AdminAnswer {
  const isDraining = path === "/drain";
  const pool = query.get("pool") ?? "";
  const replica = query.get("replica") ?? "";
  if (!isDraining && path !== "/undrain") return refusal(404, "POST /drain or /undrain, with ?pool=NAME&replica=ID.");
  const isKnown = fleet.drain(pool, replica, { isDraining, nowMs: now() });
  if (isKnown) return { status: 200, body: { pool, replica, isDraining } };
  return refusal(404, `Pool ${pool} has no replica ${replica}. See /replicas.`);
}

function reply(response: ServerResponse, { status, body, type = "application/json" }: AdminAnswer): void {
  const headers = { "content-type": type, "cache-control": "no-store", "x-content-type-options": "nosniff" };
  response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
}
