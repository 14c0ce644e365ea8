// Batch inference and embeddings through the gateway: one request for each record, answers in a file. See README.md.
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
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

/** Answers of an earlier attempt by the line of their record. A cut last line is dropped. */
function answered(partial) {
  if (!existsSync(partial)) return new Map();
  const lines = readFileSync(partial, "utf8").split("\n").slice(0, -1);
  return new Map(lines.map((line) => JSON.parse(line)).map((each) => [each.line, each]));
}

/** An answer is used again for the same request only: model, options and input. */
const digestOf = (body) => createHash("sha256").update(JSON.stringify(body)).digest("hex");

/** The answers in the order of the records. */
async function writeAnswers(options, field, answers) {
  const sorted = `${options.to}.sorted`;
  const file = openSync(sorted, "w");
  for await (const { number, record } of recordsOf(options.data)) {
    if (!answers.has(number)) continue;
    const { answer, requestId } = answers.get(number);
    const made = { ...record, line: number, [field]: answer, ...(requestId === null ? {} : { requestId }) };
    writeSync(file, `${JSON.stringify(made)}\n`);
  }
  closeSync(file);
  renameSync(sorted, options.to);
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
  for (const each of done.values()) writeSync(file, `${JSON.stringify(each)}\n`);
  const answers = new Map();
  let [count, failed] = [0, 0];
  await forEach(recordsOf(options.data), atOnce, async ({ number: line, record, fault }) => {
    count++;
    try {
      const input = record[options.field];
      if (fault !== undefined || typeof input !== "string") throw new Error(fault ?? `it has no text ${options.field}`);
      const body = { model: options.model, ...kind.body(input, sampling) };
      const asked = digestOf(body);
      if (done.get(line)?.asked === asked) return void answers.set(line, done.get(line));
      const { gateway } = options;
      const answer = await answerOf({ gateway, key: GATEWAY_KEY, kind, body, firstWaitMs });
      const made = { line, asked, ...answer };
      writeSync(file, `${JSON.stringify(made)}\n`);
      answers.set(line, made);
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
  await writeAnswers(options, kind.field, answers);
  rmSync(partial);
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
