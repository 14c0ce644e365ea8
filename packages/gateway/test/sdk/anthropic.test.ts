/**
 * The npm package `@anthropic-ai/sdk`, with an engine that serves the Messages API and with one that serves only chat
 * completions.
 */
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { greeting } from "./scripted-engine.ts";
import { gatewayForSuite, key, limitedKey } from "./setting.ts";

describe.each(["vllm", "headroom"])("messages on %s", (engineName) => {
  const setting = gatewayForSuite(engineName);
  const client = (options: { apiKey?: string; maxRetries?: number } = {}): Anthropic =>
    new Anthropic({ baseURL: setting.gateway.url, apiKey: key, maxRetries: 0, ...options });
  const ask = (content: string): Anthropic.MessageCreateParamsNonStreaming => ({
    model: "m",
    max_tokens: 100,
    messages: [{ role: "user", content }],
  });
  const tools: Anthropic.Tool[] = [
    { name: "get_weather", input_schema: { type: "object", properties: { city: { type: "string" } } } },
  ];

  it("are answered with their usage", async () => {
    const answer = await client().messages.create(ask("hello"));
    expect(answer.content).toMatchObject([{ type: "text", text: greeting }]);
    expect(answer.usage).toMatchObject({ input_tokens: 7, output_tokens: 6 });
    expect(answer.stop_reason).toBe("end_turn");
  });

  it("stream, put together by the SDK", async () => {
    const stream = client().messages.stream(ask("hello"));
    let text = "";
    stream.on("text", (delta) => (text += delta));
    const final = await stream.finalMessage();
    expect(text).toBe(greeting);
    expect(final.content).toMatchObject([{ type: "text", text: greeting }]);
    expect(final.usage.output_tokens).toBe(6);
  });

  it("use tools, whole and streamed, and take their results", async () => {
    for (const answer of [
      await client().messages.create({ ...ask("weather?"), tools }),
      await client()
        .messages.stream({ ...ask("weather?"), tools })
        .finalMessage(),
    ]) {
      expect(answer.stop_reason).toBe("tool_use");
      const call = answer.content.find((block) => block.type === "tool_use");
      expect(call?.input).toEqual({ city: "Paris" });
      const next = await client().messages.create({
        model: "m",
        max_tokens: 100,
        tools,
        messages: [
          { role: "user", content: "weather?" },
          { role: "assistant", content: answer.content },
          { role: "user", content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "21" }] },
        ],
      });
      expect(next.content).toMatchObject([{ type: "text", text: greeting }]);
    }
  });

  it("that are aborted end at the engine", async () => {
    const before = setting.engine.cancelledCount;
    const stream = await client().messages.create({ ...ask("[slow]"), stream: true });
    let events = 0;
    for await (const _ of stream) {
      events += 1;
      if (events === 5) break;
    }
    await expect.poll(() => setting.engine.cancelledCount).toBe(before + 1);
  });

  it("fail with the SDK's kinds of errors", async () => {
    const failure = (text: string, apiKey = key): Promise<unknown> =>
      client({ apiKey })
        .messages.create(ask(text))
        .catch((reason: unknown) => reason);
    const bad = await failure("[status 400]");
    expect(bad).toBeInstanceOf(Anthropic.BadRequestError);
    expect((bad as Error).message).toContain("scripted 400");
    expect(await failure("x", "wrong")).toBeInstanceOf(Anthropic.AuthenticationError);
    await failure("first", limitedKey);
    const limited = await failure("second", limitedKey);
    expect(limited).toBeInstanceOf(Anthropic.RateLimitError);
    expect((limited as InstanceType<typeof Anthropic.APIError>).error).toMatchObject({
      type: "error",
      error: { type: "rate_limit_error" },
    });
    const missing = await client()
      .messages.create({ ...ask("x"), model: "nothing" })
      .catch((reason: unknown) => reason);
    expect(missing).toBeInstanceOf(Anthropic.NotFoundError);
  });

  it("that break in the middle of a stream raise an error", async () => {
    const stream = await client().messages.create({ ...ask("[break]"), stream: true });
    let text = "";
    const failure = await (async () => {
      for await (const event of stream) {
        if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
      }
    })().catch((reason: unknown) => reason);
    expect(failure).toBeInstanceOf(Anthropic.APIError);
    expect(greeting.startsWith(text)).toBe(true);
  });

  it("are retried by the SDK until the engine answers", async () => {
    const answer = await client({ maxRetries: 3 }).messages.create(ask("[flaky 2] please"));
    expect(answer.content).toMatchObject([{ type: "text", text: greeting }]);
  });
});
