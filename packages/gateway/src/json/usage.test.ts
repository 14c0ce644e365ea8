import { describe, expect, it } from "vitest";
import { usageAtEnd, usageFromStart, usageInEvent, type TokenCounts } from "./usage.ts";

const counts = (promptTokens: number, completionTokens: number, cachedTokens = 0): TokenCounts => ({
  promptTokens,
  completionTokens,
  cachedTokens,
});

/**
 * Token counts read from the start of a response and, for a whole response, also from its end. The end must give the
 * same counts or none.
 */
function ofResponse(text: string): TokenCounts | undefined {
  const fromStart = usageFromStart(Buffer.from(text));
  const atEnd = usageAtEnd(Buffer.from(text));
  if (atEnd !== undefined) expect(atEnd).toEqual(fromStart);
  return fromStart;
}

const foreign = { usage: { prompt_tokens: 900, completion_tokens: 900 } };

describe("the usage of a response", () => {
  it("is its own, wherever the text mentions the word", () => {
    const text = JSON.stringify({
      choices: [{ message: { content: 'say "usage": {"prompt_tokens": 9, "completion_tokens": 9}' } }],
      usage: { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 2 }, completion_tokens: 5 },
    });
    expect(ofResponse(text)).toEqual(counts(3, 5, 2));
    expect(ofResponse(JSON.stringify({ content: '"usage":{"prompt_tokens":9}' }))).toBeUndefined();
    expect(ofResponse('{"usage":null}')).toBeUndefined();
    expect(ofResponse('{"usage":{"prompt_tokens":3,"completion_tokens":999999999999999}}')).toEqual(counts(3, 0));
  });

  it("counts the cached part of the prompt, which Anthropic states beside the rest and OpenAI within the whole", () => {
    const anthropic = {
      input_tokens: 3,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 100,
      output_tokens: 5,
    };
    expect(ofResponse(JSON.stringify({ usage: anthropic }))).toEqual(counts(123, 5, 100));
    expect(ofResponse(JSON.stringify({ usage: { ...anthropic, cache_read_input_tokens: null } }))).toEqual(
      counts(23, 5),
    );
    const openai = { input_tokens: 123, input_tokens_details: { cached_tokens: 100 }, output_tokens: 5 };
    expect(ofResponse(JSON.stringify({ usage: openai }))).toEqual(counts(123, 5, 100));
    const both = { prompt_tokens: 123, completion_tokens: 5, cache_read_input_tokens: 100 };
    expect(ofResponse(JSON.stringify({ usage: both }))).toEqual(counts(123, 5, 100));
  });

  it("is not that of an object inside the response, before or behind its own", () => {
    const own = { prompt_tokens: 3, completion_tokens: 5 };
    expect(ofResponse(JSON.stringify({ usage: own, choices: [foreign] }))).toEqual(counts(3, 5));
    expect(ofResponse(JSON.stringify({ choices: [foreign], usage: own }))).toEqual(counts(3, 5));
    expect(ofResponse(JSON.stringify({ usage: { ...own, ...foreign } }))).toEqual(counts(3, 5));
    expect(ofResponse(JSON.stringify({ choices: [foreign], usage: null }))).toBeUndefined();
    expect(ofResponse(JSON.stringify({ response: foreign, message: foreign }))).toBeUndefined();
    expect(ofResponse(JSON.stringify({ usage: own, 'x"usage': { prompt_tokens: 9 }, metadata: foreign }))).toEqual(
      counts(3, 5),
    );
  });

  it("is found in the end of a large response, and only if it is the response's own", () => {
    const own = '"usage" : {"prompt_tokens":3,"total_tokens":3}, "id" : "x" }\n';
    expect(usageAtEnd(Buffer.from(`0.25,0.5]}],${own}`))).toEqual(counts(3, 0));
    expect(usageAtEnd(Buffer.from(`0.25,0.5],${own}]}`))).toBeUndefined();
    expect(usageAtEnd(Buffer.from(`0.25,0.5],"usage":{"prompt_tokens":3`))).toBeUndefined();
  });

  it("counts in a response that was cut off behind it", () => {
    const whole = `{"usage":{"prompt_tokens":3,"completion_tokens":5},"data":[{"usage":{"prompt_tokens":9}}`;
    expect(usageFromStart(Buffer.from(whole))).toEqual(counts(3, 5));
    expect(usageFromStart(Buffer.from(whole.slice(0, 20)))).toBeUndefined();
  });
});

describe("the usage of a stream's event", () => {
  const event = (data: object, name = ""): Buffer =>
    Buffer.from(`${name === "" ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);

  it("is the event's own, of the Responses API and of Anthropic that of the response in it", () => {
    const usage = { input_tokens: 3, output_tokens: 5 };
    expect(usageInEvent(event({ choices: [foreign], usage }), undefined)).toEqual(counts(3, 5));
    expect(usageInEvent(event({ usage, choices: [foreign] }), undefined)).toEqual(counts(3, 5));
    expect(usageInEvent(event({ choices: [foreign], usage: null }), undefined)).toBeUndefined();
    expect(usageInEvent(event({ choices: [foreign] }), undefined)).toBeUndefined();
    const started = event({ type: "message_start", message: { usage, content: [foreign] } }, "message_start");
    expect(usageInEvent(started, "message")).toEqual(counts(3, 5));
    expect(usageInEvent(event({ type: "message_delta", delta: foreign, usage }), "message")).toEqual(counts(3, 5));
    const done = event({ response: { usage, output: [foreign], tools: [foreign] } }, "response.completed");
    expect(usageInEvent(done, "response")).toEqual(counts(3, 5));
    expect(usageInEvent(event({ response: { usage: null, output: [foreign] } }), "response")).toBeUndefined();
    expect(usageInEvent(event({ item: foreign }), "response")).toBeUndefined();
  });

  it("is found in every form that an event may have", () => {
    const json = '{"choices":[{"usage":{"prompt_tokens":9}}],"usage":{"prompt_tokens":3}}';
    for (const text of [
      `data:${json}\n\n`,
      `data: ${json}\r\n\r\n`,
      `id: 1\ndata: ${json}\nretry: 5\n\n`,
      `data: ${json.replace(',"usage"', ',\ndata: "usage"')}\n\n`,
    ]) {
      expect(usageInEvent(Buffer.from(text), undefined)).toEqual(counts(3, 0));
    }
  });
});
