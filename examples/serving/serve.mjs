// A small OpenAI-compatible server for one GGUF model. `node serve.mjs --model FILE`; see README.md.
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { EngineClient } from "./engine-client.mjs";
import { readGguf } from "./gguf-file.mjs";
import { answerModels, embeddings, generation } from "./handlers.mjs";
import { Metrics } from "./metrics.mjs";
import { ProtocolError } from "./openai.mjs";
const BODY_MAX = 4 * 2 ** 20;
const QUEUE_MAX = 256; // maximum number of requests in the engine, including waiting ones
const CONNECTIONS_MAX = 1_024;
const REQUEST_MS = 30_000; // timeout for receiving a complete request

const { values: options } = parseArgs({
  options: {
    model: { type: "string" },
    name: { type: "string", default: "quickstart" },
    host: { type: "string", default: "127.0.0.1" },
    port: { type: "string", default: "8000" },
    engine: { type: "string", default: "auto" },
    slots: { type: "string", default: "8" },
    "drain-seconds": { type: "string", default: "30" },
  },
});
const apiKey = process.env.SERVING_API_KEY;
const isLoopback = ["127.0.0.1", "::1", "localhost"].includes(options.host);

function chooseEngine(wanted) {
  if (!["auto", "llama.cpp", "builtin"].includes(wanted))
    throw new Error(`--engine must be auto, llama.cpp or builtin, not ${wanted}`);
  if (wanted !== "auto") return wanted;
  return existsSync(join(import.meta.dirname, "node_modules", "node-llama-cpp")) ? "llama.cpp" : "builtin";
}

/** Exits with the reason before the server listens. */
function checkOptions() {
  if (options.model === undefined)
    throw new Error("--model FILE is missing: a GGUF file, as the quickstart exports at its end");
  if (!isLoopback && !apiKey) throw new Error("set SERVING_API_KEY to listen on an address that others reach");
  for (const name of ["port", "slots", "drain-seconds"])
    if (!/^\d{1,5}$/.test(options[name])) throw new Error(`--${name} must be a whole number, not ${options[name]}`);
  readGguf(resolve(options.model));
}

const readyLine = ({ name, pid, context }) => `engine ${name} is ready: process ${pid}, context ${context}`;

function start() {
  checkOptions();
  let isDraining = false;
  const metrics = new Metrics(options.name);
  const engine = new EngineClient({
    engine: chooseEngine(options.engine),
    modelPath: resolve(options.model),
    slots: Math.max(1, Number(options.slots)),
    onStats: (stats) => (metrics.engine = stats),
    onState: (state) => {
      console.log(state === "ready" ? readyLine(engine.about) : state);
      if (state === "failed") process.exit(1); // the last lines of the engine's stderr explain why
    },
  });
  const unavailable = (message, code) => new ProtocolError(503, message, { type: "service_unavailable", code });

  /** The engine accepts requests only while the server is neither draining nor full. */
  function admit() {
    if (isDraining) throw unavailable("the server is shutting down", "draining");
    if (!engine.isReady) throw unavailable("the engine is starting", "engine_starting");
    if (engine.inflight >= QUEUE_MAX) throw unavailable("the queue is full", "queue_full");
  }
  const context = { engine, metrics, admit, name: options.name };
  const routes = {
    "GET /health": (_request, response) => {
      const [status, text] = isDraining
        ? [503, "draining"]
        : engine.isReady
          ? [200, "ok"]
          : [503, "the engine is starting"];
      response.writeHead(status, { "content-type": "text/plain" }).end(`${text}\n`);
    },
    "GET /metrics": (_request, response) =>
      response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(metrics.text()),
    "GET /v1/models": (_request, response) => answerModels(response, context),
    "POST /v1/completions": async (request, response) =>
      generation(await bodyOf(request), response, "completion", context),
    "POST /v1/chat/completions": async (request, response) =>
      generation(await bodyOf(request), response, "chat", context),
    "POST /v1/embeddings": async (request, response) => embeddings(await bodyOf(request), response, context),
  };

  const server = createServer({ requestTimeout: REQUEST_MS, keepAliveTimeout: 75_000 }, (request, response) => {
    if (isDraining) response.setHeader("connection", "close");
    response.on("error", () => {}); // the client is gone
    handle(routes, request, response).catch((error) => refuse(response, error));
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(Number(options.port), options.host, () => {
    console.log(`serving ${options.name} on http://${options.host}:${server.address().port}/v1`);
  });
  server.on("error", (error) => {
    console.error(`cannot listen: ${error.message}`);
    process.exit(1);
  });

  /** Keeps listening, so that /health answers 503, until every stream has ended or the deadline has passed. */
  function drain() {
    if (isDraining) return;
    isDraining = true;
    console.log(`draining: ${engine.inflight} requests in flight`);
    const deadline = performance.now() + 1000 * Number(options["drain-seconds"]);
    const timer = setInterval(() => {
      if (engine.inflight > 0 && performance.now() < deadline) return;
      clearInterval(timer);
      engine.close();
      server.close(() => process.exit(0));
      server.closeIdleConnections();
      setTimeout(() => process.exit(0), 1_000).unref();
    }, 100);
  }
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, drain);
}

async function handle(routes, request, response) {
  const path = request.url.split("?")[0];
  if (apiKey && path.startsWith("/v1/") && request.headers.authorization !== `Bearer ${apiKey}`)
    throw new ProtocolError(401, "the API key is missing or wrong", {
      type: "authentication_error",
      code: "invalid_api_key",
    });
  const route = routes[`${request.method} ${path}`];
  if (route !== undefined) return route(request, response);
  const isKnown = Object.keys(routes).some((each) => each.endsWith(` ${path}`));
  throw new ProtocolError(
    isKnown ? 405 : 404,
    isKnown ? `${request.method} is not allowed here` : `there is no ${path}`,
  );
}

/** The JSON object in a request's body. Other content types are refused, so that no web page can send a request. */
async function bodyOf(request) {
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? ""))
    throw new ProtocolError(415, "the content type must be application/json");
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > BODY_MAX) throw new ProtocolError(413, `the request is larger than ${BODY_MAX} bytes`);
    chunks.push(chunk);
  }
  try {
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (body !== null && typeof body === "object" && !Array.isArray(body)) return body;
  } catch {}
  throw new ProtocolError(400, "the body is not a JSON object");
}

function refuse(response, error) {
  if (response.headersSent || response.destroyed) return response.destroy();
  const known = error instanceof ProtocolError;
  if (!known) console.error(error);
  const { status, body } = known ? error : new ProtocolError(500, "internal error", { type: "server_error" });
  const retry = status === 503 ? { "retry-after": "1" } : {};
  const headers = { "content-type": "application/json", ...retry, ...(status === 413 ? { connection: "close" } : {}) };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

try {
  start();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
