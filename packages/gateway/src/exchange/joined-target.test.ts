import { describe, expect, it } from "vitest";
import type { Collected } from "./collect-target.ts";
import { JoinedTarget } from "./joined-target.ts";

function joined(chunks: readonly object[]): {
  readonly status: number;
  readonly body: unknown;
  readonly isCut: boolean;
} {
  let collected: Collected | undefined;
  const target = new JoinedTarget((response) => (collected = response));
  for (const [at, chunk] of chunks.entries()) {
    const event = Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
    if (at === 0) target.begin(200, "", event);
    else target.write(event);
  }
  const isCut = target.isCut(undefined, true);
  target.end();
  return { status: collected?.status ?? 0, body: JSON.parse(collected?.body.toString() ?? ""), isCut };
}

const chunk = (delta: object, more: object = {}): object => ({
  id: "c",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});

describe("the events of a line's stream", () => {
  it("become the answer that the model server gives without a stream", () => {
    const { status, body, isCut } = joined([
      chunk({ role: "assistant", content: "" }),
      chunk({ reasoning_content: "be" }),
      chunk({ reasoning_content: "cause", content: "a" }),
      chunk({ content: "b" }, { finish_reason: "stop", stop_reason: null }),
      { id: "c", choices: [], usage: { prompt_tokens: 1, completion_tokens: 4 } },
    ]);
    expect([status, isCut]).toEqual([200, false]);
    const message = { role: "assistant", content: "ab", reasoning_content: "because" };
    expect(body).toEqual({
      id: "c",
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: "stop", stop_reason: null }],
      usage: { prompt_tokens: 1, completion_tokens: 4 },
    });
  });

  it("lose no part of a list, at a choice, in its message, or in an object", () => {
    const { body } = joined([
      chunk({ content: "a", marks: [1] }, { token_ids: [7, 8], logprobs: { content: [{ token: "a" }] } }),
      chunk({ content: "b", marks: [2] }, { token_ids: [9], logprobs: { content: [{ token: "b" }] } }),
      chunk({}, { token_ids: null, logprobs: null, finish_reason: "length" }),
    ]);
    expect(body).toMatchObject({
      choices: [
        {
          message: { content: "ab", marks: [1, 2] },
          token_ids: [7, 8, 9],
          logprobs: { content: [{ token: "a" }, { token: "b" }] },
          finish_reason: "length",
        },
      ],
    });
  });

  it.each([
    ["no choice", [{ id: "c", choices: [] }]],
    ["no reason for its end", [chunk({ content: "a" }), chunk({ content: "b" })]],
    ["a choice without a reason for its end", [chunk({}, { finish_reason: "stop" }), chunk({}, { index: 1 })]],
    ["an error", [chunk({ content: "a" }, { finish_reason: "stop" }), { error: { message: "out of memory" } }]],
  ])("are no answer with %s", (_, chunks) => {
    expect(joined(chunks)).toMatchObject({ status: 502, isCut: true });
  });
});
