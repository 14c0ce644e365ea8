/** The server as a process: protocol, streams, batching, prefix reuse, cancellation, drain, and the death of its engine. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { writeTinyModel } from "./testing/tiny-model.ts";

interface Server {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly url: string;
}
const CONTEXT = 512;
let folder: string;
let file: string;
const started: ChildProcess[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headroom-serving-"));
  file = join(folder, "model.gguf");
  writeTinyModel(file, CONTEXT);
});
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

function launch(args: readonly string[], env: Record<string, string> = {}) {
  const all = ["--port", "0", "--engine", "builtin", ...args];
  const child = spawn(process.execPath, [join(import.meta.dirname, "serve.mjs"), ...all], {
    env: { PATH: process.env["PATH"], ...env },
  });
  started.push(child);
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) createInterface(stream).on("line", (line) => lines.push(line));
  return { child, lines };
}

async function serve(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Server> {
  const { child, lines } = launch(["--model", file, ...args], env);
  await vi.waitFor(() => expect(lines.join("\n")).toMatch(/serving[^]*is ready/), { timeout: 30_000 });
  return { child, lines, url: /http:\S+(?=\/v1)/.exec(lines.join("\n"))![0] };
}

const post = (server: Server, path: string, body: unknown, more: RequestInit = {}) =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...more,
  });
const ask = { model: "quickstart", prompt: "import ", max_tokens: 20, ignore_eos: true, seed: 7 };

interface Answer {
  readonly choices: readonly {
    readonly text: string;
    readonly finish_reason: string;
    readonly message: { readonly content: string };
  }[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}
const complete = async (server: Server, more: object = {}) =>
  (await (await post(server, "/v1/completions", { ...ask, ...more })).json()) as Answer;

/** The data of the events of a stream. */
async function eventsOf(answer: Response): Promise<string[]> {
  const text = await answer.text();
  return text
    .split("\n\n")
    .filter((part) => part !== "")
    .map((part) => part.replace(/^data: /, ""));
}
async function metric(server: Server, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`vllm:${name}`))
      ?.split(" ")
      .at(-1),
  );
}

const hasLlama = existsSync(join(import.meta.dirname, "node_modules", "node-llama-cpp"));
if (!hasLlama) console.warn("SKIPPED: llama.cpp is not installed; run node examples/serving/install-llama.mjs");

describe.each(hasLlama ? ["builtin", "llama.cpp"] : ["builtin"])("the server on %s", (engine) => {
  let server: Server;
  beforeAll(async () => {
    server = await serve(["--slots", "4", "--engine", engine]);
  });

  it("lists its model and is healthy", async () => {
    const models = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: object[] };
    expect(models.data).toMatchObject([{ id: "quickstart", object: "model", max_model_len: CONTEXT }]);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });

  it("answers a completion, the same for the same seed, and streams the same text", async () => {
    const answer = await complete(server);
    expect(answer.choices[0]!.finish_reason).toBe("length");
    expect(answer.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 20 });
    expect((await complete(server)).choices).toEqual(answer.choices);
    const more = { stream: true, stream_options: { include_usage: true } };
    const events = await eventsOf(await post(server, "/v1/completions", { ...ask, ...more }));
    expect(events.at(-1)).toBe("[DONE]");
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event) as Answer);
    expect(chunks.map(({ choices }) => choices[0]?.text ?? "").join("")).toBe(answer.choices[0]!.text);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 20 } });
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe("length");
  });

  it("answers a chat, whole and as a stream that begins with the role", async () => {
    const chat = { model: "quickstart", messages: [{ role: "user", content: "import " }], max_tokens: 20, seed: 7 };
    const answer = (await (await post(server, "/v1/chat/completions", chat)).json()) as Answer;
    expect(answer.choices[0]!.message.content).toBe((await complete(server, { ignore_eos: false })).choices[0]!.text);
    const events = await eventsOf(await post(server, "/v1/chat/completions", { ...chat, stream: true }));
    const deltas = events
      .slice(0, -1)
      .map((event) => JSON.parse(event) as { choices: { delta: { role?: string; content?: string } }[] });
    expect(deltas[0]!.choices[0]!.delta).toEqual({ role: "assistant", content: "" });
    expect(deltas.map(({ choices }) => choices[0]!.delta.content ?? "").join("")).toBe(
      answer.choices[0]!.message.content,
    );
  });

  it("continues a cut answer with the same tokens: a stream can be resumed on another replica", async () => {
    const { text } = (await complete(server, { max_tokens: 40 })).choices[0]!;
    for (const cut of [1, 13, 39]) {
      const rest = await complete(server, { prompt: `${ask.prompt}${text.slice(0, cut)}`, max_tokens: 40 - cut });
      expect(text.slice(0, cut) + rest.choices[0]!.text).toBe(text);
    }
  });

  it("computes only what follows a prefix that a slot has kept", async () => {
    const prompt = "A prompt of some length that nobody else sends. ".repeat(4);
    const first = await complete(server, { prompt });
    const second = await complete(server, { prompt: `${prompt}And more.` });
    expect(first.usage.prompt_tokens_details.cached_tokens).toBeLessThan(prompt.length);
    expect(second.usage.prompt_tokens_details.cached_tokens).toBe(prompt.length);
    await expect.poll(() => metric(server, "prefix_cache_hits_total")).toBeGreaterThanOrEqual(prompt.length);
  });

  it("answers more requests at once than it has slots, each as if it were alone", async () => {
    const prompts = Array.from({ length: 12 }, (_, i) => `request ${i} `);
    const alone: string[] = [];
    for (const prompt of prompts) alone.push((await complete(server, { prompt })).choices[0]!.text);
    const together = await Promise.all(prompts.map((prompt) => complete(server, { prompt })));
    expect(together.map(({ choices }) => choices[0]!.text)).toEqual(alone);
    const { choices } = await complete(server, { prompt: prompts });
    expect(choices.map(({ text }) => text)).toEqual(alone);
  });

  it("stops at a stop string, which it does not send", async () => {
    const { text } = (await complete(server)).choices[0]!;
    const stop = text.slice(6, 8);
    const answer = await complete(server, { stop });
    expect(answer.choices[0]).toMatchObject({ text: text.slice(0, text.indexOf(stop)), finish_reason: "stop" });
  });

  it("tells log probabilities, and the chosen token is among them", async () => {
    const answer = (await complete(server, { logprobs: 3, temperature: 0 })) as unknown as {
      choices: { logprobs: { token_logprobs: number[]; top_logprobs: Record<string, number>[] } }[];
    };
    const { token_logprobs, top_logprobs } = answer.choices[0]!.logprobs;
    expect(token_logprobs).toHaveLength(20);
    for (const [i, value] of token_logprobs.entries()) expect(value).toBe(Math.max(...Object.values(top_logprobs[i]!)));
  });

  it("embeds texts as vectors of length 1, as numbers or base64", async () => {
    const body = { model: "quickstart", input: ["one text", "another"] };
    const { data } = (await (await post(server, "/v1/embeddings", body)).json()) as { data: { embedding: number[] }[] };
    expect(data).toHaveLength(2);
    for (const { embedding } of data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
    const encoded = await post(server, "/v1/embeddings", { ...body, encoding_format: "base64" });
    const bytes = Buffer.from(
      ((await encoded.json()) as { data: { embedding: string }[] }).data[0]!.embedding,
      "base64",
    );
    expect(new Float32Array(new Uint8Array(bytes).buffer)[0]).toBeCloseTo(data[0]!.embedding[0]!, 6);
  });

  it.each([
    ["broken JSON", "/v1/completions", "{", 400, "JSON"],
    ["a list", "/v1/completions", "[]", 400, "JSON object"],
    ["no model", "/v1/completions", { prompt: "x" }, 400, "model"],
    ["another model", "/v1/completions", { ...ask, model: "gpt-4" }, 404, "does not exist"],
    ["a prompt of another kind", "/v1/completions", { ...ask, prompt: { a: 1 } }, 400, "prompt"],
    ["no prompt", "/v1/completions", { ...ask, prompt: "" }, 400, "empty"],
    ["an unknown token", "/v1/completions", { ...ask, prompt: [9999] }, 400, "does not know"],
    ["a temperature of 3", "/v1/completions", { ...ask, temperature: 3 }, 400, "temperature"],
    ["half a token", "/v1/completions", { ...ask, max_tokens: 0.5 }, 400, "max_tokens"],
    [
      "a prompt that is too long",
      "/v1/completions",
      { ...ask, prompt: "x".repeat(512) },
      400,
      "maximum context length",
    ],
    [
      "the same as a stream",
      "/v1/completions",
      { ...ask, prompt: "x".repeat(512), stream: true },
      400,
      "maximum context",
    ],
    ["too many choices", "/v1/completions", { ...ask, n: 17 }, 400, "n must be"],
    ["no messages", "/v1/chat/completions", { model: "quickstart", messages: [] }, 400, "messages"],
    ["null as message", "/v1/chat/completions", { model: "quickstart", messages: [null] }, 400, "messages"],
    [
      "tools",
      "/v1/chat/completions",
      { model: "quickstart", messages: [{ role: "user", content: "x" }], tools: [{}] },
      400,
      "tools",
    ],
    ["a path that is none", "/v1/engines", {}, 404, "there is no"],
    ["a request that is too large", "/v1/completions", `{"prompt":"${"x".repeat(5e6)}"}`, 413, "larger"],
  ])("refuses %s in the protocol's shape", async (_what, path, body, status, words) => {
    const answer = await post(server, path, body);
    expect(answer.status).toBe(status);
    const { error } = (await answer.json()) as { error: { message: string; type: string } };
    expect(error.message).toContain(words);
    expect(error.type).toBe("invalid_request_error");
  });

  it("refuses other methods and content types", async () => {
    expect((await fetch(`${server.url}/v1/completions`)).status).toBe(405);
    const answer = await post(server, "/v1/completions", ask, { headers: { "content-type": "text/plain" } });
    expect(answer.status).toBe(415);
  });

  it("stops computing when the client goes away", async () => {
    const before = await metric(
      server,
      'request_success_total{engine="0",model_name="quickstart",finished_reason="abort"',
    );
    const aborting = new AbortController();
    const answer = await post(
      server,
      "/v1/completions",
      { ...ask, max_tokens: 500, stream: true },
      { signal: aborting.signal },
    );
    await answer.body!.getReader().read();
    aborting.abort();
    const aborts = () =>
      metric(server, 'request_success_total{engine="0",model_name="quickstart",finished_reason="abort"');
    await expect.poll(aborts).toBe(before + 1);
    await expect.poll(() => metric(server, "num_requests_running")).toBe(0);
  });

  it("counts tokens and requests under vLLM's names", async () => {
    const before = await metric(server, "generation_tokens_total");
    await complete(server);
    expect(await metric(server, "generation_tokens_total")).toBe(before + 20);
    const text = await (await fetch(`${server.url}/metrics`)).text();
    for (const name of [
      "num_requests_running",
      "num_requests_waiting",
      "kv_cache_usage_perc",
      "time_to_first_token_seconds_bucket",
    ])
      expect(text).toContain(`\nvllm:${name}{`);
  });

  it("fails what runs when its engine dies, in the stream's own form, and starts it again", async () => {
    const pid = Number(/process (\d+)/.exec(server.lines.findLast((line) => line.includes("is ready"))!)![1]);
    const reader = (await post(server, "/v1/completions", { ...ask, max_tokens: 500, stream: true })).body!.getReader();
    let text = Buffer.from((await reader.read()).value!).toString();
    process.kill(pid, "SIGKILL");
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += Buffer.from(part.value).toString();
    const last = text.trim().split("\n\n").at(-1)!;
    expect(JSON.parse(last.replace(/^data: /, ""))).toMatchObject({ error: { code: "engine_died" } });
    await expect.poll(async () => (await fetch(`${server.url}/health`)).status).toBe(200);
    expect((await complete(server)).usage.completion_tokens).toBe(20);
  });
});

describe("the end of the server", () => {
  it("on SIGTERM it answers /health with 503 and refuses requests while streams go on, then exits with 0", async () => {
    const server = await serve();
    const answer = await post(server, "/v1/completions", { ...ask, max_tokens: 500, stream: true });
    const reader = answer.body!.getReader();
    let text = Buffer.from((await reader.read()).value!).toString();
    server.child.kill("SIGTERM");
    const exit = once(server.child, "exit");
    await expect.poll(() => server.lines.join()).toContain("draining: 1 requests");
    expect((await fetch(`${server.url}/health`)).status).toBe(503);
    const refused = await post(server, "/v1/completions", ask);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += Buffer.from(part.value).toString();
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(await exit).toEqual([0, null]);
  });
});

describe("starting", () => {
  const outcome = async (args: readonly string[], env = {}) => {
    const { child, lines } = launch(args, env);
    const [code] = (await once(child, "exit")) as [number];
    return `${code}: ${lines.join("\n")}`;
  };

  it("refuses with a reason: no file, a file that is none, an address that others reach without a key", async () => {
    expect(await outcome([])).toContain("1: --model FILE is missing");
    expect(await outcome(["--model", join(import.meta.dirname, "serve.mjs")])).toContain("is not a usable GGUF file");
    expect(await outcome(["--model", file, "--host", "0.0.0.0"])).toContain("set SERVING_API_KEY");
    expect(await outcome(["--model", file, "--slots", "x"])).toContain("--slots must be a whole number");
  });

  it("ends when its engine cannot load the model, and says why", async () => {
    const other = join(folder, "other.gguf");
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf("llama"); at >= 0; at = bytes.indexOf("llama", at)) bytes.write("llamb", at);
    writeFileSync(other, bytes);
    const said = await outcome(["--model", other]);
    expect(said).toMatch(/^1: /);
    expect(said).toContain('runs "llama" models, and this is "llamb"');
  });

  it("asks for the key where there is one", async () => {
    const server = await serve([], { SERVING_API_KEY: "secret" });
    expect((await fetch(`${server.url}/v1/models`)).status).toBe(401);
    const answer = await fetch(`${server.url}/v1/models`, { headers: { authorization: "Bearer secret" } });
    expect(answer.status).toBe(200);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });

  it("cancels what a reader who never reads has asked for, and answers others meanwhile", async () => {
    const server = await serve(["--slots", "2"]);
    const { port } = new URL(server.url);
    const slow = httpRequest({
      port,
      host: "127.0.0.1",
      path: "/v1/completions",
      method: "POST",
      headers: { "content-type": "application/json" },
    });
    slow.end(JSON.stringify({ ...ask, stream: true, max_tokens: 500 }));
    const [response] = (await once(slow, "response")) as [import("node:http").IncomingMessage];
    response.pause();
    expect((await complete(server)).usage.completion_tokens).toBe(20);
    slow.destroy();
    await expect.poll(() => metric(server, "num_requests_running")).toBe(0);
  });
});
