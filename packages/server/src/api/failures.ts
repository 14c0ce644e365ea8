/** Converts every failure of a request, whether before, in or after its handler, to a problem document (RFC 9457). */
import { STATUS_CODES } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { operations, problemOf, refuse } from "@headroom/protocol";
import type { Operation, Problem, ProblemCode } from "@headroom/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { DriverLog } from "../driver/driver-log.ts";
import { mapProblem } from "./problem-mapping.ts";

const PROBLEM_TYPE = "application/problem+json; charset=utf-8";
/** Value of `Retry-After` for temporary problems, in seconds. */
const RETRY_AFTER_S = 1;
/** Time in ms for which a client may continue to send after the answer "too large". Then its connection is closed. */
const LINGER_MS = 3_000;

export function addFailureHandlers(app: FastifyInstance, log: DriverLog): void {
  app.setErrorHandler((error, request, reply) => sendProblem(request, reply, error, log));
  app.setNotFoundHandler((request, reply) => {
    const allowed = allowedMethods(request.url);
    // The router also reports this error for a parameter that is longer than any valid one.
    if (allowed.length === 0 || allowed.includes(request.method)) {
      return sendProblem(
        request,
        reply,
        refuse("notFound", "There is nothing at this address. /v1/openapi.json lists all addresses."),
        log,
      );
    }
    void reply.header("allow", allowed.join(", "));
    return sendProblem(
      request,
      reply,
      refuse("methodNotAllowed", `This address accepts only ${allowed.join(", ")}.`),
      log,
    );
  });
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown, log: DriverLog): void {
  const problem = failed(request, reply, error, log);
  void reply
    .code(problem.status)
    .headers({ "content-type": PROBLEM_TYPE, "cache-control": "no-store", "x-content-type-options": "nosniff" })
    .send(JSON.stringify(problem));
}

/** The problem of a failed request, with the headers that its answer needs whatever its format. Bugs are logged. */
export function failed(request: FastifyRequest, reply: FastifyReply, error: unknown, log: DriverLog): Problem {
  const { problem, isBug } = mapProblem(error);
  if (isBug)
    log.error(
      `${request.method} ${request.routeOptions.url ?? ""}: ${error instanceof Error ? error.stack : String(error)}`,
    );
  if (problem.code === "unauthorized") void reply.header("www-authenticate", 'Bearer realm="headroom"');
  if (problem.status === 503 || problem.status === 429) void reply.header("retry-after", String(RETRY_AFTER_S));
  if (problem.code === "bodyTooLarge") linger(request, reply);
  return problem;
}

/**
 * Closing a connection whose client still sends resets it, and the reset can overtake the answer. The remaining input
 * is therefore read and dropped for a moment before the connection closes.
 */
function linger(request: FastifyRequest, reply: FastifyReply): void {
  void reply.header("connection", "close");
  request.raw.resume();
  const { socket } = request.raw;
  const cut = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(cut));
}

interface RoutePattern {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
}

/** Allowed methods by path. The framework itself would answer a wrong method with 404. */
const routePatterns: readonly RoutePattern[] = Object.values<Operation>(operations).map(({ path, method, stream }) => ({
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`),
  methods: method === "GET" && !stream ? ["GET", "HEAD"] : [method],
}));

/** Allowed methods of the decoded path, as the router matches it. */
function allowedMethods(url: string): string[] {
  const path = decodedPath(url);
  const methods = routePatterns.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods);
  return [...new Set(methods)].toSorted();
}

function decodedPath(url: string): string {
  // An absolute-form target (RFC 9112, 3.2.2) has a scheme and an authority before its path.
  const [path = ""] = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "").split("?", 1);
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

const rawProblems: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: ["headersTooLarge", "The headers may have at most 16 KiB."],
  ERR_HTTP_REQUEST_TIMEOUT: ["requestTimeout", "The request did not arrive in time."],
};

/**
 * Refuses requests that Node's server would answer by itself with an empty body or a closed connection: `CONNECT`, and
 * an `Expect` header other than `100-continue` (RFC 9110, 9.3.6 and 10.1.1). The refusals have the problem format.
 */
export function refuseUnroutable(server: Server): void {
  server.on("connect", (_request, socket) => {
    endRaw(socket, problemOf("methodNotAllowed", "The control plane is not a proxy and does not accept CONNECT."));
  });
  server.on("checkExpectation", ({ socket }: IncomingMessage) => {
    endRaw(socket, {
      ...problemOf("invalidRequest", "Only `Expect: 100-continue` is supported."),
      status: 417,
    });
  });
}

/** Answers input that is not an HTTP request, and so never reaches a route, in the same format as other problems. */
export function answerRawProblem(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, detail] =
    rawProblems[error.code ?? ""] ?? (["invalidRequest", "This is not a valid HTTP request."] as const);
  const problem = problemOf(code, detail);
  // Unreadable input is malformed whatever it contains, so the status is 400.
  endRaw(socket, code === "invalidRequest" ? { ...problem, status: 400 } : problem);
}

function endRaw(socket: Duplex, problem: Problem): void {
  socket.end(rawAnswer(problem), () => socket.destroy());
}

function rawAnswer(problem: Problem): string {
  const { status } = problem;
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}
