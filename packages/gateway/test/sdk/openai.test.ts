/** The npm package `openai` against the gateway. */
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { greeting } from "./scripted-engine.ts";
import { gatewayForSuite, key, limitedKey } from "./setting.ts";

const setting = gatewayForSuite("vllm");

function client(options: { apiKey?: string; maxRetries?: number } = {}): OpenAI {
  return new OpenAI({ baseURL: `${setting.gateway.url}/v1`, apiKey: key, maxRetries: 0, ...options });
}

const user = (content: string): OpenAI.ChatCompletionMessageParam => ({ role: "user", content });
const weather: OpenAI.ChatCompletionTool = {
  type: "function",
  function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
};

describe("chat", () => {
  it("answers with its usage", async () => {
    const answer = await client().chat.completions.create({ model: "m", messages: [user("hello")] });
    expect(answer.choices[0]?.message.content).toBe(greeting);
    expect(answer.usage?.total_tokens).toBe(13);
  });

  it("streams the same text, with usage where it is asked for", async () => {
    for (const include_usage of [true, false]) {
      const stream = await client().chat.completions.create({
        model: "m",
        messages: [user("hello")],
        stream: true,
        stream_options: { include_usage },
      });
      let text = "";
      let total: number | undefined;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? "";
        total = chunk.usage?.total_tokens ?? total;
      }
      expect(text).toBe(greeting);
      expect(total).toBe(include_usage ? 13 : undefined);
    }
  });

  it("shows no usage to clients that did not ask for it", async () => {
    const stream = await client().chat.completions.create({ model: "m", messages: [user("hello")], stream: true });
    let emptyCount = 0;
    for await (const chunk of stream) if (chunk.choices.length === 0 || chunk.usage != null) emptyCount += 1;
    expect(emptyCount).toBe(0);
  });

  it("lists and retrieves models", async () => {
    const models = await client().models.list();
    expect(models.data.map(({ id }) => id)).toEqual(["m"]);
    expect((await client().models.retrieve("m")).id).toBe("m");
  });

  it("completes text", async () => {
    const answer = await client().completions.create({ model: "m", prompt: "once" });
    expect(answer.choices[0]?.text).toBe(greeting);
  });
});

describe("tools", () => {
  it("are called, and their result is answered", async () => {
    const messages = [user("weather?")];
    const call = await client().chat.completions.create({ model: "m", messages, tools: [weather] });
    const [tool] = call.choices[0]?.message.tool_calls ?? [];
    expect(call.choices[0]?.finish_reason).toBe("tool_calls");
    expect(tool?.type === "function" ? JSON.parse(tool.function.arguments) : undefined).toEqual({ city: "Paris" });
    const answer = await client().chat.completions.create({
      model: "m",
      messages: [
        ...messages,
        call.choices[0]?.message as OpenAI.ChatCompletionMessage,
        { role: "tool", tool_call_id: tool?.id ?? "", content: "21" },
      ],
      tools: [weather],
    });
    expect(answer.choices[0]?.message.content).toBe(greeting);
  });

  it("stream their arguments, put together by the SDK's runner", async () => {
    const stream = client().chat.completions.stream({ model: "m", messages: [user("weather?")], tools: [weather] });
    const final = await stream.finalChatCompletion();
    const [tool] = final.choices[0]?.message.tool_calls ?? [];
    expect(tool?.type === "function" && tool.function.arguments).toBe('{"city":"Paris"}');
  });
});

it("parses structured output", async () => {
  const schema = z.object({ name: z.string(), age: z.number() });
  const answer = await client().chat.completions.parse({
    model: "m",
    messages: [user("who?")],
    response_format: zodResponseFormat(schema, "person"),
  });
  expect(answer.choices[0]?.message.parsed).toEqual({ name: "Ada", age: 36 });
  expect(setting.engine.lastBody?.response_format?.type).toBe("json_schema");
});

describe("embeddings", () => {
  it("arrive as numbers, through the SDK's base64 encoding", async () => {
    const answer = await client().embeddings.create({ model: "m", input: ["four", "sevensix"] });
    expect(answer.data.map(({ embedding }) => embedding)).toEqual([
      [4, 0.5],
      [8, 0.5],
    ]);
    const floats = await client().embeddings.create({ model: "m", input: "abc", encoding_format: "float" });
    expect(floats.data[0]?.embedding).toEqual([3, 0.5]);
  });
});

describe("abort", () => {
  const expectCancelled = async (before: number): Promise<void> => {
    await expect.poll(() => setting.engine.cancelledCount).toBe(before + 1);
  };

  it("of a stream reaches the engine", async () => {
    const before = setting.engine.cancelledCount;
    const stream = await client().chat.completions.create({ model: "m", messages: [user("[slow]")], stream: true });
    let events = 0;
    for await (const _ of stream) {
      events += 1;
      if (events === 5) break;
    }
    await expectCancelled(before);
  });

  it("before the answer reaches the engine", async () => {
    const before = setting.engine.cancelledCount;
    const abort = new AbortController();
    const answer = client().chat.completions.create(
      { model: "m", messages: [user("[slow] answer")] },
      { signal: abort.signal },
    );
    setTimeout(() => abort.abort(), 100);
    await expect(answer).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    await expectCancelled(before);
  });
});

describe("errors", () => {
  const ask = (text: string, options: { apiKey?: string; model?: string; maxRetries?: number } = {}) =>
    client(options).chat.completions.create({ model: options.model ?? "m", messages: [user(text)] });

  it("of the engine keep their status, message, parameter and code", async () => {
    const error = await ask("[status 400]").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ status: 400, code: "scripted", param: "messages" });
    expect((error as Error).message).toContain("scripted 400");
  });

  it("of the gateway are of the SDK's kinds", async () => {
    await expect(ask("x", { apiKey: "wrong" })).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    const missing = await ask("x", { model: "nothing" }).catch((reason: unknown) => reason);
    expect(missing).toBeInstanceOf(OpenAI.NotFoundError);
    expect(missing).toMatchObject({ code: "model_not_found" });
  });

  it("of limits say when to come back", async () => {
    await ask("first", { apiKey: limitedKey });
    const error = await ask("second", { apiKey: limitedKey }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    const after = Number((error as InstanceType<typeof OpenAI.APIError>).headers?.get("retry-after"));
    expect(after).toBeGreaterThan(0);
    expect(after).toBeLessThanOrEqual(61);
  });

  it("in the middle of a stream are thrown by the SDK's iterator", async () => {
    const stream = await client().chat.completions.create({ model: "m", messages: [user("[break]")], stream: true });
    let text = "";
    const failure = await (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    })().catch((reason: unknown) => reason);
    expect(greeting.startsWith(text)).toBe(true);
    expect(text.length).toBeGreaterThan(0);
    expect(failure).toBeInstanceOf(OpenAI.APIError);
  });

  it("are retried by the SDK until the engine answers", async () => {
    const before = setting.engine.requestCount;
    const answer = await ask("[flaky 2] please", { maxRetries: 3 });
    expect(answer.choices[0]?.message.content).toBe(greeting);
    expect(setting.engine.requestCount).toBe(before + 3);
  });
});
