/** The Responses API of the npm package `openai`, with an engine that serves only chat completions. */
import OpenAI from "openai";
import { expect, it } from "vitest";
import { greeting } from "./scripted-engine.ts";
import { gatewayForSuite, key } from "./setting.ts";

const setting = gatewayForSuite("headroom");
const client = (): OpenAI => new OpenAI({ baseURL: `${setting.gateway.url}/v1`, apiKey: key, maxRetries: 0 });

it("answers", async () => {
  const answer = await client().responses.create({ model: "m", input: "hello" });
  expect(answer.output_text).toBe(greeting);
  expect(answer.usage).toMatchObject({ input_tokens: 7, output_tokens: 6 });
});

it("streams, and ends with the whole response", async () => {
  const stream = client().responses.stream({ model: "m", input: "hello" });
  let text = "";
  stream.on("response.output_text.delta", ({ delta }) => (text += delta));
  const final = await stream.finalResponse();
  expect(text).toBe(greeting);
  expect(final.output_text).toBe(greeting);
  expect(final.status).toBe("completed");
});

it("calls functions", async () => {
  const answer = await client().responses.create({
    model: "m",
    input: "weather?",
    tools: [
      {
        type: "function",
        name: "get_weather",
        parameters: { type: "object", properties: { city: { type: "string" } } },
        strict: false,
      },
    ],
  });
  const [call] = answer.output.filter((item) => item.type === "function_call");
  expect(call).toMatchObject({ name: "get_weather", arguments: '{"city":"Paris"}' });
});
