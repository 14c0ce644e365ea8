// The endpoints: each submits requests to the engine, follows their events, and answers completely or as a stream.
import { ProtocolError, answerShapes, readEmbeddings, readGeneration, usageOf } from "./openai.mjs";
const UNSENT_MAX = 2 ** 20; // bytes a slow reader may leave unread before its request is cancelled
const now = () => performance.now() / 1000;

export function answerModels(response, { name, engine }) {
  const model = { id: name, object: "model", created: 0, owned_by: "headroom", max_model_len: engine.about?.context };
  sendJson(response, { object: "list", data: [model] });
}

function sendJson(response, body) {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function checkModel(body, name) {
  if (typeof body.model !== "string") throw new ProtocolError(400, "model must be a string", { param: "model" });
  if (body.model !== name)
    throw new ProtocolError(404, `the model "${body.model}" does not exist: "${name}" does`, {
      param: "model",
      code: "model_not_found",
    });
}

/** The error response for a request that failed in the engine. */
function errorOf({ code, message }) {
  if (code === "context_length_exceeded") return new ProtocolError(400, message, { code, param: "prompt" });
  if (code === "invalid_prompt") return new ProtocolError(400, message, { code, param: "prompt" });
  return new ProtocolError(code === "engine_died" ? 503 : 500, message, { type: "server_error", code });
}

/**
 * Submits requests and calls `onEvent(index, event)` for each of their events. Resolves with the `done` events once all have
 * ended; rejects with the first failure, and then cancels the others. All are cancelled when the client goes away.
 */
function follow(requests, response, { engine, metrics }, onEvent) {
  const [ends, cancels] = [[], []];
  const cancelAll = () => cancels.forEach((cancel) => cancel());
  response.on("close", () => response.writableEnded || cancelAll());
  return new Promise((resolve, reject) => {
    let left = requests.length;
    for (const [index, request] of requests.entries()) {
      const timing = { arrivedAt: now() };
      const listener = (event) => {
        clock(timing, event, metrics);
        if (event.kind === "failed") {
          cancelAll();
          reject(errorOf(event));
        } else if (event.kind === "done") {
          ends[index] = event;
          if (--left === 0) resolve(ends);
        }
        onEvent(index, event);
      };
      cancels.push(engine.submit(request, listener));
    }
    if (response.destroyed) cancelAll(); // the client left before
  });
}

/** Records the times of a request, and counts it when it ends. */
function clock(timing, event, metrics) {
  const at = now();
  if (event.kind === "started") timing.startedAt = at;
  if (event.kind === "text" && event.tokens > 0) {
    if (timing.firstTokenAt === undefined) metrics.observe("time_to_first_token_seconds", at - timing.arrivedAt);
    else metrics.observe("inter_token_latency_seconds", at - timing.lastTokenAt);
    timing.firstTokenAt ??= at;
    timing.lastTokenAt = at;
  }
  if (event.kind === "done") metrics.finish({ ...timing, ...event, endedAt: at });
  if (event.kind === "failed")
    metrics.finish({ ...timing, reason: "error", promptTokens: 0, generatedTokens: 0, endedAt: at });
}

export async function generation(body, response, kind, context) {
  checkModel(body, context.name);
  const asked = readGeneration(body, kind);
  context.admit();
  const shapes = answerShapes(asked, context.name);
  if (asked.isStream) return stream(asked, response, shapes, context);
  const choices = asked.requests.map(() => ({ text: "", logprobs: undefined, reason: undefined }));
  const ends = await follow(asked.requests, response, context, (index, event) => {
    const choice = choices[index];
    if (event.kind === "done") choice.reason = event.reason;
    if (event.kind !== "text") return;
    choice.text += event.text;
    if (event.logprobs) choice.logprobs = [...(choice.logprobs ?? []), ...event.logprobs];
  });
  sendJson(response, shapes.whole(choices, usageOf(countedOnce(ends, asked))));
}

/** Choices of one prompt share its tokens: OpenAI counts them once. */
function countedOnce(ends, { promptStride }) {
  return ends.map((end, i) => (i % promptStride === 0 ? end : { ...end, promptTokens: 0, cachedTokens: 0 }));
}

/** Nothing is sent before the engine has accepted the request: until then a failure is a plain HTTP error. */
async function stream(asked, response, shapes, context) {
  const send = (chunk) => {
    if (!response.headersSent)
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    if (chunk !== undefined) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if (response.writableLength > UNSENT_MAX) response.destroy();
  };
  try {
    const ends = await follow(asked.requests, response, context, (index, event) => {
      if (event.kind === "started") send(shapes.opening(index));
      if (event.kind === "text" && (event.text !== "" || event.logprobs))
        send(shapes.text(index, event.text, event.logprobs));
      if (event.kind === "done") send(shapes.finish(index, event.reason));
    });
    if (asked.hasUsage) send(shapes.usage(usageOf(countedOnce(ends, asked))));
    response.end("data: [DONE]\n\n");
  } catch (error) {
    if (!response.headersSent || !(error instanceof ProtocolError)) throw error;
    // In the middle of a stream an error is an event, as the SDKs expect, and [DONE] does not follow.
    response.end(`data: ${JSON.stringify(error.body)}\n\n`);
  }
}

export async function embeddings(body, response, context) {
  checkModel(body, context.name);
  const { format, requests } = readEmbeddings(body);
  context.admit();
  const vectors = [];
  const ends = await follow(requests, response, context, (index, event) => {
    if (event.kind === "vector") vectors[index] = event.vector;
  });
  const encoded = (vector) =>
    format === "float" ? vector : Buffer.from(Float32Array.from(vector).buffer).toString("base64");
  const data = vectors.map((vector, index) => ({ object: "embedding", index, embedding: encoded(vector) }));
  const { prompt_tokens } = usageOf(ends);
  sendJson(response, {
    object: "list",
    model: context.name,
    data,
    usage: { prompt_tokens, total_tokens: prompt_tokens },
  });
}
