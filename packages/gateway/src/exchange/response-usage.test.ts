/** The response's own `usage` is billed, even if objects inside the response have a field `usage` too. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { settleUsage, usageStart } from "../usage/reader.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const foreign = { usage: { prompt_tokens: 900, input_tokens: 900, completion_tokens: 900, output_tokens: 900 } };
const chatUsage = { prompt_tokens: 3, completion_tokens: 5 };
const inputUsage = { input_tokens: 3, output_tokens: 5 };
const events = (...data: readonly object[]): string => data.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");

interface Case {
  readonly what: string;
  readonly path: string;
  readonly isStream: boolean;
  readonly answer: string;
  readonly completionTokens?: number;
}

const cases: readonly Case[] = [
  {
    what: "a chat completion",
    path: "/v1/chat/completions",
    isStream: false,
    answer: JSON.stringify({ usage: chatUsage, choices: [{ message: { content: "a" }, tool: foreign }] }),
  },
  {
    what: "a chat completion's stream",
    path: "/v1/chat/completions",
    isStream: true,
    answer: `${events({ choices: [{ delta: { content: "a" } }] }, { usage: chatUsage, choices: [{ delta: {}, tool: foreign }] }, { choices: [foreign] })}data: [DONE]\n\n`,
  },
  {
    what: "a completion",
    path: "/v1/completions",
    isStream: false,
    answer: JSON.stringify({ usage: chatUsage, choices: [{ text: "a", step: foreign }] }),
  },
  {
    what: "a response",
    path: "/v1/responses",
    isStream: false,
    answer: JSON.stringify({ usage: inputUsage, output: [{ type: "tool", result: foreign }] }),
  },
  {
    what: "a response's stream",
    path: "/v1/responses",
    isStream: true,
    answer: events(
      { type: "response.created", response: { usage: null } },
      { type: "response.completed", response: { usage: inputUsage, output: [foreign] }, trace: foreign },
    ),
  },
  {
    what: "a message",
    path: "/v1/messages",
    isStream: false,
    answer: JSON.stringify({ usage: inputUsage, content: [{ type: "tool_result", result: foreign }] }),
  },
  {
    what: "a message's stream",
    path: "/v1/messages",
    isStream: true,
    answer: events(
      { type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 }, content: [foreign] } },
      { type: "message_delta", usage: { output_tokens: 5 }, delta: { tool: foreign } },
      { type: "message_stop" },
    ),
  },
  {
    what: "embeddings",
    path: "/v1/embeddings",
    isStream: false,
    answer: JSON.stringify({
      usage: { prompt_tokens: 3, total_tokens: 3 },
      data: [{ embedding: [0.5], model: foreign }],
    }),
    completionTokens: 0,
  },
  {
    what: "embeddings that are too large to hold",
    path: "/v1/embeddings",
    isStream: false,
    answer: JSON.stringify({
      data: [{ embedding: Array.from({ length: 300_000 }, (_, at) => at), model: foreign }],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    }),
    completionTokens: 0,
  },
];

/** A replica that answers every POST with these bytes, and a gateway in front of it. */
async function gatewayOver(answer: string, isStream: boolean): Promise<TestGateway> {
  const replica = createServer((request, response) => {
    request.resume();
    const type = isStream && request.method === "POST" ? "text/event-stream" : "application/json";
    response.writeHead(200, { "content-type": type }).end(request.method === "POST" ? answer : "{}");
  });
  await new Promise<void>((resolve) => replica.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    replica.closeAllConnections();
    await new Promise<void>((resolve) => replica.close(() => resolve()));
  });
  const { port } = replica.address() as AddressInfo;
  const gateway = await testGateway(
    `access: open\npools: [{ name: p, engine: vllm, protocols: [messages, responses], replicas: ["http://127.0.0.1:${port}"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

/** The least that a request of the protocol at this path has. Fields of other protocols are refused. */
function requestFor(endpoint: string, isStream: boolean): string {
  switch (endpoint) {
    case "/v1/chat/completions":
    case "/v1/messages":
      return JSON.stringify({ model: "m", stream: isStream, messages: [], max_tokens: 9 });
    case "/v1/completions":
      return JSON.stringify({ model: "m", stream: isStream, prompt: "x", max_tokens: 9 });
    case "/v1/responses":
      return JSON.stringify({ model: "m", stream: isStream, input: "x", max_output_tokens: 9 });
    default:
      return JSON.stringify({ model: "m", input: "x" });
  }
}

describe("billed usage", () => {
  it.each(cases)("is that of $what", async ({ path: endpoint, isStream, answer, completionTokens = 5 }) => {
    const gateway = await gatewayOver(answer, isStream);
    const body = requestFor(endpoint, isStream);
    const response = await fetch(`${gateway.url}${endpoint}`, { method: "POST", body });
    expect(response.status).toBe(200);
    await response.text();
    const { records } = settleUsage(path.join(gateway.state, "gateway", "usage"), usageStart);
    expect(records).toMatchObject([
      { outcome: "completed", promptTokens: 3, completionTokens, isPromptEstimated: false },
    ]);
  });

  it.each([
    ["/v1/chat/completions", 'data: {"error":{"message":"out of memory"}}\n\n'],
    ["/v1/messages", 'event: error\ndata: {"type":"error","error":{"type":"api_error"}}\n\n'],
    ["/v1/responses", 'event: error\ndata: {"type":"error","code":"x"}\n\n'],
    ["/v1/responses", 'event: response.failed\ndata: {"type":"response.failed","response":{"usage":null}}\n\n'],
  ])("is nothing where the engine ends a stream of %s with an error", async (endpoint, answer) => {
    const gateway = await gatewayOver(answer, true);
    const body = requestFor(endpoint, true);
    expect(await (await fetch(`${gateway.url}${endpoint}`, { method: "POST", body })).text()).toBe(answer);
    const { records } = settleUsage(path.join(gateway.state, "gateway", "usage"), usageStart);
    expect(records).toMatchObject([{ outcome: "failed", promptTokens: 0, completionTokens: 0, nanoUsd: 0 }]);
  });
});
