/** The npm package `@langchain/openai` against the gateway. */
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { expect, it } from "vitest";
import { z } from "zod";
import { greeting } from "./scripted-engine.ts";
import { gatewayForSuite, key, limitedKey } from "./setting.ts";

const setting = gatewayForSuite("vllm");

function model(options: { apiKey?: string; maxRetries?: number } = {}): ChatOpenAI {
  const { apiKey = key, maxRetries = 0 } = options;
  return new ChatOpenAI({ model: "m", apiKey, maxRetries, configuration: { baseURL: `${setting.gateway.url}/v1` } });
}

const weather = tool(({ city }: { city: string }) => `21 in ${city}`, {
  name: "get_weather",
  description: "weather of a city",
  schema: z.object({ city: z.string() }),
});

it("invokes with usage", async () => {
  const answer = await model().invoke("hello");
  expect(answer.content).toBe(greeting);
  expect(answer).toMatchObject({ usage_metadata: { total_tokens: 13 } });
});

it("streams with usage", async () => {
  let text = "";
  let usage: unknown;
  for await (const chunk of await model().stream("hello")) {
    text += chunk.text;
    usage = chunk.usage_metadata ?? usage;
  }
  expect(text).toBe(greeting);
  expect(usage).toMatchObject({ total_tokens: 13 });
});

it("calls tools and takes their results", async () => {
  const bound = model().bindTools([weather]);
  const call = await bound.invoke("weather?");
  expect(call.tool_calls?.[0]).toMatchObject({ name: "get_weather", args: { city: "Paris" } });
  const result = await weather.invoke({ ...(call.tool_calls?.[0] as object), type: "tool_call" } as never);
  const answer = await bound.invoke([new HumanMessage("weather?"), call, result]);
  expect(answer.content).toBe(greeting);
});

it("parses structured output", async () => {
  const schema = z.object({ name: z.string(), age: z.number() });
  const answer = await model().withStructuredOutput(schema, { method: "jsonSchema" }).invoke("who?");
  expect(answer).toEqual({ name: "Ada", age: 36 });
});

it("embeds", async () => {
  const embeddings = new OpenAIEmbeddings({
    model: "m",
    apiKey: key,
    configuration: { baseURL: `${setting.gateway.url}/v1` },
  });
  expect(await embeddings.embedDocuments(["four", "sevensix"])).toEqual([
    [4, 0.5],
    [8, 0.5],
  ]);
});

it("aborts a stream up to the engine", async () => {
  const before = setting.engine.cancelledCount;
  const abort = new AbortController();
  let parts = 0;
  const failure = await (async () => {
    for await (const _ of await model().stream("[slow]", { signal: abort.signal })) {
      parts += 1;
      if (parts === 5) abort.abort();
    }
  })().catch((reason: unknown) => reason);
  expect(failure).toBeInstanceOf(Error);
  await expect.poll(() => setting.engine.cancelledCount).toBe(before + 1);
});

it("raises errors with their status", async () => {
  await expect(model().invoke("[status 400]")).rejects.toMatchObject({ status: 400 });
  await expect(model({ apiKey: "wrong" }).invoke("x")).rejects.toMatchObject({ status: 401 });
  await model({ apiKey: limitedKey }).invoke("first");
  await expect(model({ apiKey: limitedKey }).invoke("second")).rejects.toMatchObject({ status: 429 });
});

it("raises an error in the middle of a stream", async () => {
  let text = "";
  const failure = await (async () => {
    for await (const chunk of await model().stream("[break]")) text += chunk.text;
  })().catch((reason: unknown) => reason);
  expect(failure).toBeInstanceOf(Error);
  expect(greeting.startsWith(text)).toBe(true);
});

it("retries until the engine answers", async () => {
  const answer = await model({ maxRetries: 3 }).invoke("[flaky 2] please");
  expect(answer.content).toBe(greeting);
});
