/** A request reserves at least as many output tokens as its engine can make, however the request is written. */
import { hash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { settleUsage, usageStart } from "../usage/reader.ts";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { freePort } from "../testing/free-port.ts";

const cleanups: (() => Promise<void>)[] = [];
async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
}

interface Sent {
  readonly n?: unknown;
  readonly best_of?: unknown;
  readonly max_tokens?: unknown;
  readonly max_completion_tokens?: unknown;
  readonly min_tokens?: unknown;
  readonly prompt?: unknown;
}

/** A number as pydantic reads it in vLLM's request classes: texts, fractions and flags are numbers too. */
function coerced(value: unknown): number | undefined {
  const number = typeof value === "string" || typeof value === "boolean" ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) ? number : undefined;
}

/** An engine that always writes as much as a request allows. Its context has room for 30,000 tokens. */
class GreedyEngine {
  readonly server: Server;
  tokens = 0;

  constructor() {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        if (request.method === "GET") return void response.end();
        const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Sent;
        const { prompt } = body;
        const prompts = Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1;
        const max = coerced(body.max_completion_tokens) ?? coerced(body.max_tokens) ?? 30_000;
        const choices = Math.max(coerced(body.n) ?? 1, coerced(body.best_of) ?? 1) * prompts;
        const made = Math.max(Math.min(max, 30_000), coerced(body.min_tokens) ?? 0) * choices;
        this.tokens += made;
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: made } }));
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => new Promise((resolve) => this.server.close(() => resolve())));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
}

const LIMIT = 50_000;

/** Fields of requests that make more output than a careless reader reserves. */
const forms: readonly [string, string][] = [
  ["/v1/chat/completions", '"n":1e2,"max_tokens":100'],
  ["/v1/chat/completions", '"n":100.0,"max_tokens":100'],
  ["/v1/chat/completions", '"n":"100","max_tokens":100'],
  ["/v1/chat/completions", '"n":1000,"max_tokens":100'],
  ["/v1/chat/completions", '"n":100'],
  ["/v1/chat/completions", '"max_tokens":"20000"'],
  ["/v1/chat/completions", '"max_tokens":20000.0'],
  ["/v1/chat/completions", '"max_tokens":1e400'],
  ["/v1/chat/completions", '"max_tokens":1e308'],
  ["/v1/chat/completions", '"max_tokens":null'],
  ["/v1/chat/completions", '"max_completion_tokens":null,"max_tokens":null'],
  ["/v1/chat/completions", '"max_tokens":10,"max_completion_tokens":20000'],
  ["/v1/chat/completions", '"max_tokens":10,"max_tokens":20000'],
  ["/v1/chat/completions", '"max_\\u0074okens":20000'],
  ["/v1/chat/completions", '"min_tokens":20000'],
  ["/v1/chat/completions", '"max_tokens":1,"min_tokens":20000'],
  ["/v1/chat/completions", '"min_tokens":"20000"'],
  ["/v1/chat/completions", ""],
  ["/v1/completions", `"max_tokens":100,"prompt":[${'"x",'.repeat(99)}"x"]`],
  ["/v1/completions", `"max_tokens":100,"prompt":[${"[1],".repeat(99)}[1]]`],
  ["/v1/completions", `"prompt":[${'"x",'.repeat(99)}"x"]`],
  ["/v1/completions", '"prompt":"x","best_of":"50","max_tokens":1000'],
  ["/v1/completions", '"prompt":"x","best_of":50,"n":1,"max_tokens":1000'],
  ["/v1/completions", '"prompt":[1,2,3],"max_tokens":1000'],
  ["/v1/completions", '"prompt":"x"'],
];

/** Teams with the limit, one for each test: the window of a minute belongs to a team. */
const limitedTeam = (at: number): string =>
  `{ name: t${at}, tokensPerMinute: ${LIMIT}, keys: [{ sha256: ${hash("sha256", `k${at}`)} }] }`;

async function limited(url: string, more = ""): Promise<TestGateway> {
  const gateway = await testGateway(
    `${more}teams: [${Array.from({ length: forms.length }, (_, at) => limitedTeam(at)).join(", ")}, { name: rich, budget: 1 USD/month, keys: [{ sha256: ${hash("sha256", "r")} }] }]\n` +
      `pools: [{ name: p, engine: vllm, replicas: ["${url}"], price: { input: 0, output: 0 } }]\nmodels: [{ name: m, pools: [p], outputTokensReserved: 200 }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

async function send(gateway: TestGateway, target: string, text: string, key: string): Promise<number> {
  const response = await fetch(gateway.url + target, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: text,
  });
  await response.text();
  return response.status;
}

describe("the limit of tokens a minute", () => {
  const engine = new GreedyEngine();
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await limited(await engine.start());
  });
  afterAll(cleanUp);

  it.each(forms.map(([target, fields], at) => [target, fields, `k${at}`] as const))(
    "holds for %s %.60s",
    async (target, fields, key) => {
      engine.tokens = 0;
      const text = `{${fields}${fields === "" ? "" : ","}"model":"m","messages":[]}`.replace(
        target === "/v1/completions" ? ',"messages":[]' : "never",
        "",
      );
      // Without the limit, each makes 10,000 tokens or more.
      const statuses = await Promise.all(Array.from({ length: 8 }, () => send(gateway, target, text, key)));
      for (const status of statuses) expect([200, 400, 429]).toContain(status);
      // The estimate of the prompt's tokens is corrected at the end, so the bound is that of output alone.
      expect(engine.tokens).toBeLessThanOrEqual(LIMIT);
    },
  );
});

describe("a number that is none", () => {
  afterEach(cleanUp);

  it.each(["", "coordinator"])("does not stop the limits of other teams or a budget: %s", async (group) => {
    const engine = new GreedyEngine();
    const more = group === "" ? "" : `coordinator: 127.0.0.1:${await freePort()}\n`;
    const gateway = await limited(await engine.start(), more);
    const chat = (value: string, key: string): Promise<number> =>
      send(gateway, "/v1/chat/completions", `{"model":"m","messages":[],"max_tokens":${value}}`, key);
    for (const value of ["1e308", "1e400", "-1e308", "1e999999", "9007199254740993"]) {
      expect(await chat(value, "k0")).toBe(400);
      expect(await chat(value, "r")).toBe(400);
    }
    expect(await chat("10", "k0")).toBe(200);
    expect(await chat("10", "r")).toBe(200);
    const { records } = settleUsage(path.join(gateway.state, "gateway", "usage"), usageStart);
    expect(records.map(({ nanoUsd }) => nanoUsd)).toEqual([0, 0]);
  });
});
