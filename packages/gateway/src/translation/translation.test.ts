import { afterEach, describe, expect, it } from "vitest";
import { SseTap } from "../exchange/sse-tap.ts";
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

describe("a refusal", () => {
  const message = { content: null, refusal: "I cannot help with that." };
  const chunks = [
    { choices: [{ delta: { role: "assistant", content: "", refusal: null } }] },
    { choices: [{ delta: { refusal: "I cannot " } }] },
    { choices: [{ delta: { refusal: "help." } }] },
    { choices: [{ delta: {}, finish_reason: "stop" }] },
  ];
  const eventsOf = (answer: MessagesAnswer | ResponsesAnswer): Record<string, unknown>[] => {
    const text = chunks.map((chunk) => answer.chunk(chunk)).join("") + answer.done();
    return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!) as Record<string, unknown>);
  };

  it("is a part of its kind in a response", () => {
    const whole = new ResponsesAnswer("1", {}, 0).whole({ choices: [{ message, finish_reason: "stop" }] });
    expect(whole).toMatchObject({
      status: "completed",
      output: [{ type: "message", content: [{ type: "refusal", refusal: message.refusal }] }],
    });
    const events = eventsOf(new ResponsesAnswer("1", {}, 0));
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.refusal.delta",
      "response.refusal.delta",
      "response.refusal.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(events[6]).toMatchObject({ refusal: "I cannot help.", content_index: 0 });
    expect(events.at(-1)).toMatchObject({
      response: { output: [{ content: [{ type: "refusal", refusal: "I cannot help." }] }] },
    });
  });

  it("is the text of a message, with the stop reason that says so", () => {
    const whole = new MessagesAnswer("1", "m").whole({ choices: [{ message, finish_reason: "stop" }] });
    expect(whole).toMatchObject({ content: [{ type: "text", text: message.refusal }], stop_reason: "refusal" });
    const events = eventsOf(new MessagesAnswer("1", "m"));
    const texts = events.flatMap(({ delta }) => (delta as { text?: string } | undefined)?.text ?? []);
    expect(texts.join("")).toBe("I cannot help.");
    expect(events.find(({ type }) => type === "message_delta")).toMatchObject({ delta: { stop_reason: "refusal" } });
  });

  it("counts as output in a stream without usage", () => {
    const tap = new SseTap("chat", false);
    for (const chunk of chunks) tap.feed(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`));
    expect(tap.outputCount).toBe(2);
  });
});

describe("an answer that a filter ended", () => {
  it("is incomplete, with the reason", () => {
    const choices = [{ message: { content: "x" }, finish_reason: "content_filter" }];
    const incomplete = { status: "incomplete", incomplete_details: { reason: "content_filter" } };
    expect(new ResponsesAnswer("1", {}, 0).whole({ choices })).toMatchObject(incomplete);
    const stream = new ResponsesAnswer("1", {}, 0);
    stream.chunk({ choices: [{ delta: { content: "x" }, finish_reason: "content_filter" }] });
    const last = /^event: response.incomplete\ndata: (.+)$/m.exec(stream.done())?.[1];
    expect(JSON.parse(last!)).toMatchObject({ response: incomplete });
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
