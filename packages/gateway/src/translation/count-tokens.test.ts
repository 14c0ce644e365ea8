/** Counts of tokens: by the engine's own path, by its tokenizer, or estimated. None is billed or wakes a model. */
import { hash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Asked {
  readonly path: string;
  readonly body: Record<string, unknown>;
}

interface Engine {
  readonly url: string;
  readonly asked: Asked[];
}

/** An engine that answers each path of POST requests with a status and a body; 404 for others. */
async function engine(answers: Readonly<Record<string, readonly [number, string]>>): Promise<Engine> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      if (request.method === "GET") return response.writeHead(200).end();
      asked.push({ path, body: JSON.parse(text) as Asked["body"] });
      const [status, body] = answers[path] ?? [404, '{"detail":"Not Found"}'];
      return response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => void (await new Promise((resolve) => server.close(resolve))));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

async function start(pool: string, rest = ""): Promise<TestGateway> {
  const team = `{ name: t, keys: [{ sha256: ${hash("sha256", "key")} }], requestsPerMinute: 20, budget: 1 USD/day }`;
  const gateway = await testGateway(
    `teams: [${team}]\npools: [{ name: p, price: { input: 1000000, request: 5 }, ${pool} }]\nmodels: [{ name: m, aliases: [a], pools: [{ pool: p, model: own }]${rest} }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

function count(gateway: TestGateway, body: object, key = "key"): Promise<Response> {
  const headers = { "content-type": "application/json", "x-api-key": key };
  const whole = { model: "a", system: "Be short.", messages: [{ role: "user", content: "Hello" }], ...body };
  return fetch(`${gateway.url}/v1/messages/count_tokens`, { method: "POST", headers, body: JSON.stringify(whole) });
}

it("is passed on to an engine that counts, under its own name of the model, and costs nothing", async () => {
  const { url, asked } = await engine({ "/v1/messages/count_tokens": [200, '{"input_tokens": 14}'] });
  const gateway = await start(`engine: vllm, replicas: ["${url}"]`);
  const response = await count(gateway, {});
  expect([response.status, await response.json()]).toEqual([200, { input_tokens: 14 }]);
  expect(response.headers.get("x-request-id")).toMatch(/./);
  expect(asked).toEqual([
    {
      path: "/v1/messages/count_tokens",
      body: { model: "own", system: "Be short.", messages: [{ role: "user", content: "Hello" }] },
    },
  ]);
  const { limits } = (await (await gateway.admin("/v1/limits")).json()) as { limits: object[] };
  expect(limits).toMatchObject([
    { kind: "requests", used: 1 },
    { kind: "money", used: 0 },
  ]);
  const explained = await (await gateway.admin(`/v1/requests/${response.headers.get("x-request-id")}`)).json();
  expect(explained).toMatchObject({
    usage: { operation: "count_tokens", promptTokens: 0, completionTokens: 0, nanoUsd: 0 },
  });
});

it("is translated for the tokenizer of an engine that speaks only chat", async () => {
  const { url, asked } = await engine({ "/tokenize": [200, '{"count":9,"max_model_len":100,"tokens":[1,2]}'] });
  const gateway = await start(`engine: vllm, protocols: [], replicas: ["${url}"]`);
  const tools = [{ name: "f", description: "d", input_schema: { type: "object" } }];
  const response = await count(gateway, { tools });
  expect([response.status, await response.json()]).toEqual([200, { input_tokens: 9 }]);
  expect(asked).toEqual([
    {
      path: "/tokenize",
      body: {
        model: "own",
        messages: [
          { role: "system", content: "Be short." },
          { role: "user", content: "Hello" },
        ],
        tools: [{ type: "function", function: { name: "f", description: "d", parameters: { type: "object" } } }],
        add_generation_prompt: true,
      },
    },
  ]);
  const refused = await count(gateway, { messages: [{ role: "user", content: [{ type: "document" }] }] });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
});

it.each([
  ["an engine without either path", "engine: vllm", 404, '{"detail":"Not Found"}'],
  ["a method that is not allowed", "engine: llamacpp", 405, ""],
  ["a failure", "engine: vllm", 500, "{}"],
  ["an answer without a count", "engine: vllm", 200, '{"tokens":[1]}'],
  ["an answer that is no JSON", "engine: vllm", 200, "<html>"],
  ["a tokenizer that is missing", "engine: vllm, protocols: []", 404, "{}"],
])("is estimated after %s", async (_name, pool, status, body) => {
  const { url } = await engine({ "/v1/messages/count_tokens": [status, body], "/tokenize": [status, body] });
  const gateway = await start(`${pool}, attempts: 1, replicas: ["${url}"]`);
  const response = await count(gateway, {});
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ input_tokens: expect.any(Number) as number, estimated: true });
});

it("is estimated without a request where no engine counts, and where the model sleeps", async () => {
  const { url, asked } = await engine({});
  const gateway = await start(`engine: headroom, replicas: ["${url}"]`);
  const short = (await (await count(gateway, {})).json()) as { input_tokens: number };
  const long = (await (await count(gateway, { system: "x".repeat(3000) })).json()) as { input_tokens: number };
  expect(long.input_tokens - short.input_tokens).toBeGreaterThan(900);
  expect(long.input_tokens).toBeLessThan(3200);
  expect(asked).toEqual([]);
  const sleeping = await start(`engine: vllm, wake: { command: [sh, -c, "exit 1"] }`);
  expect(await (await count(sleeping, {})).json()).toMatchObject({ estimated: true });
  expect(sleeping.logged.join("\n")).not.toContain("wake");
});

it("passes on what the engine refuses, in Anthropic's form", async () => {
  const { url } = await engine({ "/tokenize": [400, '{"error":{"message":"too long"}}'] });
  const gateway = await start(`engine: vllm, protocols: [], replicas: ["${url}"]`);
  const response = await count(gateway, {});
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { type: "error", error: { type: "invalid_request_error", message: "too long" } },
  ]);
});

it("needs a key, a model of the team, POST and a body", async () => {
  const gateway = await start(`engine: headroom, replicas: ["http://127.0.0.1:9"]`);
  const types = async (...responses: readonly Promise<Response>[]): Promise<unknown> =>
    Promise.all(
      responses.map(async (each) => {
        const response = await each;
        return [response.status, ((await response.json()) as { error: { type: string } }).error.type];
      }),
    );
  const headers = { "x-api-key": "key" };
  const url = `${gateway.url}/v1/messages/count_tokens`;
  expect(
    await types(
      count(gateway, {}, ""),
      count(gateway, { model: "other" }),
      count(gateway, { messages: "x", model: 5 }),
      fetch(url, { headers }),
      fetch(url, { method: "POST", headers, body: "{" }),
    ),
  ).toEqual([
    [401, "authentication_error"],
    [404, "not_found_error"],
    [400, "invalid_request_error"],
    [405, "invalid_request_error"],
    [400, "invalid_request_error"],
  ]);
  const batch = await fetch(`${gateway.url}/v1/batches`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ input_file_id: "file-1", endpoint: "/v1/messages/count_tokens", completion_window: "24h" }),
  });
  expect(batch.status).toBe(400);
});
