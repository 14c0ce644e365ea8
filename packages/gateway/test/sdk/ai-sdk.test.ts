/** The npm packages `ai` and `@ai-sdk/openai-compatible` against the gateway. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateText, isStepCount, Output, streamText, tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { greeting } from "./scripted-engine.ts";
import { gatewayForSuite, key, limitedKey } from "./setting.ts";

const setting = gatewayForSuite("vllm");

function provider(apiKey = key) {
  return createOpenAICompatible({
    name: "headroom",
    baseURL: `${setting.gateway.url}/v1`,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
}

const weather = tool({
  description: "weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => Promise.resolve(`21 degrees in ${city}`),
});

it("generates text with usage", async () => {
  const { text, usage } = await generateText({ model: provider().chatModel("m"), prompt: "hello" });
  expect(text).toBe(greeting);
  expect(usage.totalTokens).toBe(13);
});

it("streams text with usage", async () => {
  const result = streamText({ model: provider().chatModel("m"), prompt: "hello" });
  let text = "";
  for await (const part of result.textStream) text += part;
  expect(text).toBe(greeting);
  expect((await result.usage).outputTokens).toBe(6);
});

it("runs tools and answers with their results", async () => {
  const called = await generateText({
    model: provider().chatModel("m"),
    prompt: "weather?",
    tools: { get_weather: weather },
    stopWhen: isStepCount(3),
  });
  expect(called.text).toBe(greeting);
  expect(called.steps[0]?.toolResults[0]?.output).toBe("21 degrees in Paris");
  const streamed = streamText({
    model: provider().chatModel("m"),
    prompt: "weather?",
    tools: { get_weather: weather },
    stopWhen: isStepCount(3),
  });
  expect(await streamed.text).toBe(greeting);
});

it("parses structured output, whole and streamed", async () => {
  const schema = z.object({ name: z.string(), age: z.number() });
  const settings = { model: provider().chatModel("m"), prompt: "who?", output: Output.object({ schema }) };
  expect((await generateText(settings)).output).toEqual({ name: "Ada", age: 36 });
  expect(await streamText(settings).output).toEqual({ name: "Ada", age: 36 });
});

it("embeds", async () => {
  const { embeddings } = await embedMany({ model: provider().embeddingModel("m"), values: ["four", "sevensix"] });
  expect(embeddings).toEqual([
    [4, 0.5],
    [8, 0.5],
  ]);
});

it("aborts a stream up to the engine", async () => {
  const before = setting.engine.cancelledCount;
  const abort = new AbortController();
  const result = streamText({ model: provider().chatModel("m"), prompt: "[slow]", abortSignal: abort.signal });
  let parts = 0;
  for await (const _ of result.textStream) {
    parts += 1;
    if (parts === 5) abort.abort();
  }
  await expect.poll(() => setting.engine.cancelledCount).toBe(before + 1);
});

it("reports errors with their status and message, and whether a retry helps", async () => {
  const failure = (prompt: string, apiKey = key): Promise<unknown> =>
    generateText({ model: provider(apiKey).chatModel("m"), prompt, maxRetries: 0 }).catch((reason: unknown) => reason);
  const bad = await failure("[status 400]");
  expect(APICallError.isInstance(bad) && [bad.statusCode, bad.message, bad.isRetryable]).toEqual([
    400,
    "scripted 400",
    false,
  ]);
  const wrong = await failure("x", "wrong");
  expect(APICallError.isInstance(wrong) && wrong.statusCode).toBe(401);
  await failure("first", limitedKey);
  const limited = await failure("second", limitedKey);
  expect(APICallError.isInstance(limited) && [limited.statusCode, limited.isRetryable]).toEqual([429, true]);
});

it("reports an error in the middle of a stream", async () => {
  const errors: unknown[] = [];
  const result = streamText({
    model: provider().chatModel("m"),
    prompt: "[break]",
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  });
  let text = "";
  for await (const part of result.textStream) text += part;
  expect(greeting.startsWith(text)).toBe(true);
  expect(errors).toHaveLength(1);
});

it("retries until the engine answers", async () => {
  const { text } = await generateText({
    model: provider().chatModel("m"),
    prompt: "[flaky 1] please",
    maxRetries: 2,
  });
  expect(text).toBe(greeting);
});
