// Batch inference and embeddings through the gateway: one request for each record, answers in a file. See README.md.
import { closeSync, existsSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { numberOf, optionsOf, recordsOf, reportArtifact, reportResult, runStep } from "./step.mjs";
const TRIES = 6;
const WAIT_MAX_MS = 30_000;
const REQUEST_TIMEOUT_MS = 300_000;
const RETRIED = new Set([408, 429, 500, 502, 503, 504]);
const ERROR_CHARS_MAX = 300;

/** Path, body and answer of each kind of request (OpenAI's protocol). */
const KINDS = {
  completion: {
    path: "/v1/completions",
    body: (input, options) => ({ prompt: input, ...options }),
    field: "output",
    answer: ({ choices }) => choices?.[0]?.text,
  },
  chat: {
    path: "/v1/chat/completions",
    body: (input, options) => ({ messages: [{ role: "user", content: input }], ...options }),
    field: "output",
    answer: ({ choices }) => choices?.[0]?.message?.content,
  },
  embedding: {
    path: "/v1/embeddings",
    body: (input) => ({ input }),
    field: "embedding",
    answer: ({ data }) => data?.[0]?.embedding,
  },
};

/** One request, tried again while the gateway is busy or restarts. Throws with the reason in the end. */
async function answerOf({ gateway, key, kind, body, firstWaitMs }) {
  let reason = "";
  for (let attempt = 0; attempt < TRIES; attempt++) {
    if (attempt > 0) await wait(Math.min(WAIT_MAX_MS, firstWaitMs * 2 ** (attempt - 1)));
    let response;
    try {
      response = await fetch(new URL(kind.path, gateway), {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
    } catch (error) {
      reason = error.cause?.code ?? error.message;
      continue;
    }
    const text = await response.text();
    if (response.ok) {
      const answer = kind.answer(JSON.parse(text));
      if (answer === undefined) throw new Error(`the answer has no ${kind.field}`);
      return { answer, requestId: response.headers.get("x-request-id") };
    }
    reason = `${response.status} ${text.slice(0, ERROR_CHARS_MAX)}`;
    if (!RETRIED.has(response.status)) break;
  }
  throw new Error(reason);
}

/** Numbers of the records that an earlier attempt answered: they are not asked again. A cut last line is dropped. */
function answered(partial) {
  if (!existsSync(partial)) return new Map();
  const lines = readFileSync(partial, "utf8").split("\n").slice(0, -1);
  return new Map(lines.map((line) => [JSON.parse(line).line, line]));
}

/** Runs `work` for each item, at most `atOnce` at one time. */
async function forEach(items, atOnce, work) {
  const next = items[Symbol.asyncIterator]();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let item = await next.next(); !item.done; item = await next.next()) await work(item.value);
    }),
  );
}

async function main() {
  const { GATEWAY_URL, GATEWAY_KEY } = process.env;
  const optional = { gateway: GATEWAY_URL, kind: "completion", field: "input", "at-once": "8" };
  const more = {
    "max-tokens": "64",
    temperature: "0",
    "failed-max": "0",
    "first-wait-ms": "500",
    name: "dataset:answers",
  };
  const options = optionsOf(["data", "model", "to"], { ...optional, ...more });
  const kind = KINDS[options.kind];
  if (kind === undefined) throw new Error(`--kind must be one of ${Object.keys(KINDS).join(", ")}`);
  if (options.gateway === undefined) throw new Error("state --gateway, or GATEWAY_URL");
  if (GATEWAY_KEY === undefined) throw new Error("GATEWAY_KEY is not set: the token of the gateway");
  const number = (name) => numberOf(name, options[name]);
  const sampling = { max_tokens: number("max-tokens"), temperature: number("temperature") };
  const [atOnce, failedMax, firstWaitMs] = [number("at-once"), number("failed-max"), number("first-wait-ms")];
  const partial = `${options.to}.partial`;
  const done = answered(partial);
  const file = openSync(partial, "w");
  for (const line of done.values()) writeSync(file, `${line}\n`);
  let [count, failed] = [0, 0];
  await forEach(recordsOf(options.data), atOnce, async ({ number: line, record, fault }) => {
    count++;
    if (done.has(line)) return;
    try {
      const input = record[options.field];
      if (fault !== undefined || typeof input !== "string") throw new Error(fault ?? `it has no text ${options.field}`);
      const body = { model: options.model, ...kind.body(input, sampling) };
      const { answer, requestId } = await answerOf({
        gateway: options.gateway,
        key: GATEWAY_KEY,
        kind,
        body,
        firstWaitMs,
      });
      const made = { ...record, line, [kind.field]: answer, ...(requestId === null ? {} : { requestId }) };
      writeSync(file, `${JSON.stringify(made)}\n`);
    } catch (error) {
      failed++;
      console.error(`line ${line}: ${error.message}`);
    }
  });
  closeSync(file);
  if (failed > failedMax) {
    console.error(`${failed} of ${count} records have no answer, at most ${failedMax} may`);
    return 1;
  }
  // In the order of the records.
  const lines = [...answered(partial)].sort(([a], [b]) => a - b).map(([, line]) => `${line}\n`);
  const sorted = openSync(partial, "w");
  for (const line of lines) writeSync(sorted, line);
  closeSync(sorted);
  renameSync(partial, options.to);
  const metrics = { records: count, failed };
  reportArtifact({
    name: options.name,
    path: options.to,
    metrics,
    parameters: { model: options.model, kind: options.kind },
  });
  for (const [name, value] of Object.entries(metrics)) reportResult(name, value);
  return 0;
}

if (import.meta.filename === process.argv[1]) await runStep(main);
