/**
 * Invalid and unusual requests drawn from a seed: any method, target, headers and body, as bytes on a socket. Half of
 * them carry the token.
 */
import { draw } from "@headroom/model";
import { operationNames, operations } from "@headroom/protocol";
import type { Operation, OperationName } from "@headroom/protocol";

export interface FuzzedRequest {
  /** Bytes of the whole request, including `Connection: close`. */
  readonly bytes: Buffer;
  readonly hasToken: boolean;
  readonly line: string;
}

const methods = [
  ..."GET GET GET POST POST POST PUT DELETE HEAD OPTIONS PATCH TRACE PROPFIND QUERY PURGE".split(" "),
  ..."get Post SUBSCRIBE LINK M-SEARCH G\u00c9T".split(" "),
];

/**
 * Operations to draw from. Submissions appear more often, so that other requests find workloads; login links appear, so
 * that something is created.
 */
const drawnNames: readonly OperationName[] = [
  ...operationNames,
  ...Array<OperationName>(8).fill("submitWorkload"),
  ...Array<OperationName>(8).fill("createLoginLink"),
];

const identifiers = [
  "w1",
  "w1.1",
  "node-0",
  "default",
  "a%2Fb",
  "..",
  "%2e%2e",
  "%00",
  "%ff",
  "x".repeat(300),
  "~",
  "1",
  "-1",
  "%F0%9F%92%A9",
];

/** Bodies that would be accepted, so that a bypass of the authentication would record an event. */
const accepted: Readonly<Partial<Record<OperationName, unknown>>> = {
  submitWorkload: { kind: "train", name: "fuzzed", run: "true", gang: { accelerators: 99 } },
  forecastWorkload: { kind: "train", name: "fuzzed", run: "true" },
  apply: { teams: [{ name: "fuzzed" }] },
  setPolicy: { preset: "fifo" },
  drainNode: { running: "wait" },
  noticeNode: { inMs: 60_000 },
  whatIf: { loseNodes: [] },
  forecastDrill: { lose: [{ name: "local" }] },
  startDrill: { lose: [{ name: "local" }] },
  startReplay: { policy: { preset: "best" } },
  declareModel: {
    training: { model: "llama-3-8b", sequenceLength: 512, globalBatch: 1, method: { kind: "lora", rank: 16 } },
  },
  size: { kind: "network", network: { nodeCount: 4 } },
};

const bodies: readonly string[] = [
  "",
  "{",
  "null",
  "[]",
  "0",
  '""',
  "{}",
  '{"kind":"train","name":"n","run":"true","gang":{"workers":1e9}}',
  '{"__proto__":{"admin":true},"constructor":{"prototype":{}}}',
  '{"teams":[{"name":"a","parent":"a"}]}',
  '{"teams":{"length":1e9}}',
  "[".repeat(5_000),
  `{"a":${"[".repeat(2_000)}${"]".repeat(2_000)}}`,
  `{"name":"${"x".repeat(70_000)}"}`,
  '{"name":"\\ud800"}',
  "\ufeff{}",
  '{"a":1e999}',
  "\u0000\u0001\u0002",
];

/** Draws the request with this number of a seed. Requests are drawn independently, so that one can be sent alone. */
export function fuzzedRequest(seed: number, number: number, origin: string, token: string): FuzzedRequest {
  let position = 0;
  const below = (bound: number): number => draw(seed, number, `fuzz-${position++}`) % bound;
  const one = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const name = one(drawnNames);
  const operation: Operation = operations[name];
  const method = below(3) > 0 ? operation.method : one(methods);
  const target = fuzzedTarget(operation, origin, { below, one });
  const hasToken = below(2) === 0;
  const headers = fuzzedHeaders(hasToken ? token : null, { below, one });
  const body = below(2) === 0 ? JSON.stringify(accepted[name] ?? {}) : one(bodies);
  const hasBody = body !== "" && below(8) > 0;
  if (hasBody) headers.push(...bodyHeaders(body, { below, one }));
  const line = `${method} ${target} HTTP/1.${below(20) === 0 ? 0 : 1}`;
  const head = `${[line, ...headers, "Connection: close"].join("\r\n")}\r\n\r\n`;
  return { bytes: Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(hasBody ? body : "")]), hasToken, line };
}

interface Draws {
  below(bound: number): number;
  one<T>(items: readonly T[]): T;
}

function fuzzedTarget(operation: Operation, origin: string, { below, one }: Draws): string {
  let path = operation.path.replace(/\{\w+\}/g, () => one(identifiers));
  const escaped = (text: string): string =>
    text.replace(/[a-z0-9]/gi, (letter) => (below(3) === 0 ? `%${letter.charCodeAt(0).toString(16)}` : letter));
  const changes: readonly (() => string)[] = [
    () => escaped(path),
    () => path.toUpperCase(),
    () => origin + path,
    () => origin + escaped(path),
    () => `http://evil.example${path}`,
    () => `/${path}`,
    () => `${path}/`,
    () => path.replace("/v1", "/V1"),
    () => path.replace("/v1/", "/v1%2f"),
    () => path.replace("/v1", "/%2576%31"),
    () => `/login/../${path}`,
    () => `/login/%2e%2e${path}`,
    () => `${path}%`,
    () => `${path}%zz`,
    () => `${path};a=1`,
    () => `${path}#/healthz`,
    () => path.replaceAll("/", "\\"),
    () => `${path}/${"a/".repeat(200)}`,
    () => "*",
    () => "",
    () => "/v1/nothing",
    () => "/v1",
    () => "/",
    () => "/assets/x.js",
    () => "/login?code=x",
    () => "/v1/metrics",
    () => `localhost:80`,
  ];
  if (below(2) === 0) path = one(changes)();
  const queries = [
    "?",
    "?limit=5",
    "?limit=-1",
    "?cursor=%00",
    "?from=next",
    "?from=99999999999",
    "?dryRun=true",
    "?a=1&a=2",
    "?__proto__=1",
    "?limit=%ff",
    "?tailLines=1&follow=false",
    "?maxBytes=0",
  ];
  return below(3) === 0 ? path + one(queries) : path;
}

function fuzzedHeaders(token: string | null, { below, one }: Draws): string[] {
  const hosts = ["127.0.0.1", "127.0.0.1", "127.0.0.1", "localhost:7070", "[::1]", "evil.example", "a b", ""];
  const headers = below(30) === 0 ? [] : [`Host: ${below(4) > 0 ? "127.0.0.1" : one(hosts)}`];
  const authorizations = [
    "Bearer ",
    "Bearer undefined",
    "Bearer null",
    `Bearer ${"x".repeat(43)}`,
    "Basic dG9rZW46",
    "bearer",
    "Bearer \u00e9",
    "Digest username=a",
  ];
  if (token !== null) headers.push(`Authorization: Bearer ${token}`);
  else if (below(2) === 0) headers.push(`Authorization: ${one(authorizations)}`);
  const extras = [
    "Headroom-User: alice",
    "Headroom-User: token",
    "Headroom-User: a b",
    "Headroom-User: \u00e9",
    "Idempotency-Key: k",
    "Idempotency-Key: a b",
    `Idempotency-Key: ${"k".repeat(500)}`,
    "Cookie: headroom_00000000=9999999999999.x",
    "Cookie: ;;=;=",
    "Origin: http://evil.example",
    "Origin: null",
    "X-HTTP-Method-Override: DELETE",
    "X-Forwarded-Host: evil.example",
    "X-Original-URL: /healthz",
    "X-Rewrite-URL: /healthz",
    "Accept: text/html",
    "Accept: text/event-stream",
    "Accept-Version: 2.0.0",
    "Last-Event-ID: 5",
    "Last-Event-ID: x",
    "Expect: 100-continue",
    "Expect: nothing",
    "Upgrade: websocket",
    "If-None-Match: *",
    "Range: bytes=0-0",
    "Content-Encoding: gzip",
    "TE: trailers",
    `X-Long: ${"x".repeat(20_000)}`,
    "Bad Header: x",
    ": x",
  ];
  for (let count = below(2) * below(4); count > 0; count--) headers.push(one(extras));
  return headers;
}

function bodyHeaders(body: string, { below, one }: Draws): string[] {
  const types = [
    "application/json",
    "application/json",
    "application/json; charset=utf-16",
    "text/plain",
    "application/xml",
    "",
    "a/b;;",
    "multipart/form-data",
  ];
  const length = Buffer.byteLength(body);
  const lengths = [
    `Content-Length: ${length}`,
    `Content-Length: ${length}`,
    `Content-Length: ${Math.max(0, length - 1)}`,
    "Content-Length: -1",
    "Content-Length: 9999999",
    "Content-Length: x",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: x",
  ];
  const type = below(3) > 0 ? "application/json" : one(types);
  return [`Content-Type: ${type}`, below(4) > 0 ? `Content-Length: ${length}` : one(lengths)];
}
