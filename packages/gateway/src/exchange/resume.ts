/**
 * Continues a broken stream on another replica. The text so far becomes the beginning of the answer
 * (`continue_final_message` of vLLM's chat API, or a longer prompt for completions). Under greedy decoding the rest is
 * the same, token for token.
 */
import type { PoolRoute } from "./model-route.ts";
import { addedMaximumOf } from "./settlement.ts";
import type { ExchangeRequest } from "./runtime.ts";
import { chunkOf, dataOf, type Chunk, type Received, type StreamIdentity, type StreamRecord } from "./stream-record.ts";

export function isResumable(
  { endpoint, peek }: Pick<ExchangeRequest, "endpoint" | "peek">,
  { pool }: PoolRoute,
): boolean {
  const isAllowed = pool.config.resume ?? pool.traits.canResume;
  return isAllowed && peek.isResumable && (endpoint.operation === "chat" || endpoint.operation === "text_completion");
}

export interface Continuation {
  readonly body: Buffer;
  readonly tokensBefore: number;
  /**
   * Changes the second stream's events so that they continue the first stream. They get the first stream's id, model
   * and time, and the usage of both streams: the second replica counts the first one's output as a part of its prompt.
   */
  rewrite(events: Buffer): Buffer;
}

/** Builds the request that continues a stream. Returns undefined if the stream contains anything besides text. */
export function continuationOf(
  request: ExchangeRequest,
  route: PoolRoute,
  record: StreamRecord,
): Continuation | undefined {
  const received = record.received();
  if (received === undefined) return undefined;
  const body = bodyWithPrefix(request, route, received);
  if (body === undefined) return undefined;
  const { identity, tokenCount } = received;
  return { body, tokensBefore: tokenCount, rewrite: (events) => rewritten(events, identity, tokenCount) };
}

function bodyWithPrefix(request: ExchangeRequest, route: PoolRoute, prefix: Received): Buffer | undefined {
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(request.body.toString("utf8")) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  body["model"] = route.upstreamModel;
  body["stream_options"] = { ...(body["stream_options"] as object | undefined), include_usage: true };
  const added = addedMaximumOf(request, route);
  if (added !== undefined) body["max_tokens"] = added;
  for (const field of ["max_tokens", "max_completion_tokens"]) {
    const max = body[field];
    if (typeof max !== "number") continue;
    if (max <= prefix.tokenCount) return undefined;
    body[field] = max - prefix.tokenCount;
  }
  const min = body["min_tokens"];
  if (typeof min === "number") body["min_tokens"] = Math.max(0, min - prefix.tokenCount);
  if (request.endpoint.operation === "text_completion") {
    if (typeof body["prompt"] !== "string" || body["echo"] === true || body["suffix"] != null) return undefined;
    body["prompt"] += prefix.text;
  } else {
    if (!Array.isArray(body["messages"])) return undefined;
    if (prefix.text !== "") {
      const messages = withAnswer(body["messages"], prefix.text, body["continue_final_message"] === true);
      if (messages === undefined) return undefined;
      body["messages"] = messages;
      body["add_generation_prompt"] = false;
      body["continue_final_message"] = true;
    }
  }
  try {
    return Buffer.from(JSON.stringify(body));
  } catch {
    // The text is nested more deeply than the parser's stack allows.
    return undefined;
  }
}

/**
 * The conversation with the beginning of its answer. `isContinued` states that the client itself asked to continue the
 * last message. Undefined if that message is not a text.
 */
function withAnswer(messages: readonly unknown[], text: string, isContinued: boolean): readonly unknown[] | undefined {
  if (!isContinued) return [...messages, { role: "assistant", content: text }];
  const last = messages.at(-1) as { readonly content?: unknown } | null | undefined;
  if (typeof last?.content !== "string") return undefined;
  return [...messages.slice(0, -1), { ...last, content: last.content + text }];
}

function rewritten(events: Buffer, identity: StreamIdentity, tokensBefore: number): Buffer {
  const output: string[] = [];
  for (const event of events.toString("utf8").split(/\r?\n\r?\n/)) {
    if (event === "") continue;
    const data = dataOf(event);
    if (data === undefined || data === "[DONE]") {
      output.push(`${event}\n\n`);
      continue;
    }
    const chunk = chunkOf(data);
    if (chunk === undefined) {
      output.push(`${event}\n\n`);
      continue;
    }
    const [choice] = chunk.choices ?? [];
    const isRoleOnly =
      choice?.delta?.role != null && (choice.delta.content ?? "") === "" && choice.finish_reason == null;
    if (isRoleOnly) continue;
    const usage = chunk.usage == null ? {} : { usage: usageOfBoth(chunk.usage, tokensBefore) };
    output.push(`data: ${JSON.stringify({ ...chunk, ...identity, ...usage })}\n\n`);
  }
  return Buffer.from(output.join(""));
}

function usageOfBoth(usage: NonNullable<Chunk["usage"]>, tokensBefore: number): object {
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (typeof prompt !== "number" || typeof completion !== "number") return usage;
  return {
    ...usage,
    prompt_tokens: Math.max(0, prompt - tokensBefore),
    completion_tokens: completion + tokensBefore,
  };
}
