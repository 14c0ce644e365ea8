import { afterEach, describe, expect, it } from "vitest";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { MessagesAnswer } from "./messages.ts";
import { ResponsesAnswer } from "./responses.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function start(): Promise<{ readonly gateway: TestGateway; readonly mock: MockUpstream }> {
  const mock = new MockUpstream({ tokens: 3 });
  await mock.start();
  cleanups.push(() => mock.kill());
  const gateway = await testGateway(
    `access: open\npools: [{ name: p, engine: headroom, replicas: [${mock.url}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return { gateway, mock };
}

const post = (url: string, body: object): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", ...body }),
  });

const typesOf = (stream: string): string[] => [...stream.matchAll(/^event: (.+)$/gm)].map(([, type]) => type!);

describe("Anthropic's messages on a chat engine", () => {
  it("become a chat completion with its tools and results", async () => {
    const { gateway, mock } = await start();
    const response = await post(`${gateway.url}/v1/messages`, {
      max_tokens: 2,
      system: "be brief",
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "f", input: { a: 1 } }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: "42" },
            { type: "text", text: "so?" },
          ],
        },
      ],
    });
    expect(await response.json()).toMatchObject({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "t0 t1 " }],
      stop_reason: "end_turn",
      usage: { output_tokens: 2 },
    });
    expect(mock.lastBody?.messages).toEqual([
      { role: "system", content: "be brief" },
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "42" },
      { role: "user", content: [{ type: "text", text: "so?" }] },
    ]);
  });

  it("stream as its events", async () => {
    const { gateway } = await start();
    const text = await (
      await post(`${gateway.url}/v1/messages`, {
        max_tokens: 9,
        stream: true,
        messages: [{ role: "user", content: "a b" }],
      })
    ).text();
    expect(typesOf(text)).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect(text).toContain('"usage":{"input_tokens":2,"output_tokens":3}');
  });

  it("get an upstream's refusal in their own shape", async () => {
    const { gateway, mock } = await start();
    mock.options = { status: 400 };
    const response = await post(`${gateway.url}/v1/messages`, { max_tokens: 9, messages: [] });
    expect([response.status, await response.json()]).toEqual([
      400,
      { type: "error", error: { type: "invalid_request_error", message: "mock" } },
    ]);
  });
});

describe("the Responses API on a chat engine", () => {
  it("answers and streams", async () => {
    const { gateway } = await start();
    const whole = await post(`${gateway.url}/v1/responses`, { input: "a b c", instructions: "x" });
    expect(await whole.json()).toMatchObject({
      object: "response",
      status: "completed",
      output: [{ type: "message", content: [{ type: "output_text", text: "t0 t1 t2 " }] }],
      usage: { input_tokens: 4, output_tokens: 3, total_tokens: 7 },
    });
    const text = await (await post(`${gateway.url}/v1/responses`, { input: "a", stream: true })).text();
    expect(typesOf(text)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });
});

describe("usage of a translated answer", () => {
  const usage = {
    prompt_tokens: 120,
    completion_tokens: 7,
    prompt_tokens_details: { cached_tokens: 100 },
    completion_tokens_details: { reasoning_tokens: 4 },
  };

  it("has the cached part of the prompt where each protocol states it", () => {
    expect(new MessagesAnswer("1", "m").whole({ usage })["usage"]).toEqual({
      input_tokens: 20,
      cache_read_input_tokens: 100,
      output_tokens: 7,
    });
    expect(new ResponsesAnswer("1", {}, 0).whole({ usage })["usage"]).toEqual({
      input_tokens: 120,
      input_tokens_details: { cached_tokens: 100 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 127,
    });
  });
});
