/**
 * Continuing a broken stream on another replica: the text so far becomes the beginning of the answer (`continue_final_message` of vLLM's
 * chat API, or a longer prompt for completions). Under greedy decoding the rest is the same, token for token.
 */
import type { MemoryBudget } from "../http/memory-budget.ts";
import type { PoolRoute } from "./model-route.ts";
import type { ExchangeRequest } from "./runtime.ts";

/** Bytes of events kept per stream; a longer stream cannot be continued. */
const RECORD_BYTES_MAX = 1024 * 1024;

export function isResumable({ endpoint, peek }: ExchangeRequest, { pool }: PoolRoute): boolean {
  const isAllowed = pool.config.resume ?? pool.traits.canResume;
  return isAllowed && peek.isResumable && (endpoint.operation === "chat" || endpoint.operation === "text_completion");
}

/** Initial size of a record in bytes: a few events of an idle stream fit; most answers outgrow it. */
const RECORD_BYTES_FIRST = 1024;
const noBytes = Buffer.alloc(0);

/**
 * The events that the client has received, bounded by a limit for all streams together. Events are copied, because a
 * short event would otherwise keep alive the whole buffer in which it arrived: for an idle stream, for hours.
 */
export class StreamRecord {
  readonly #budget: MemoryBudget;
  #bytes: Buffer = noBytes;
  #length = 0;
  #isWhole = true;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  add(events: Buffer): void {
    if (!this.#isWhole) return;
    const length = this.#length + events.length;
    if (length > RECORD_BYTES_MAX || !this.#budget.take(events.length)) {
      this.release();
      return;
    }
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(RECORD_BYTES_FIRST, 2 * length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    events.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  /** The events, or undefined if there were too many. */
  text(): string | undefined {
    return this.#isWhole ? this.#bytes.toString("utf8", 0, this.#length) : undefined;
  }

  /** Forgets the events: the stream has ended, or can no longer be continued. */
  release(): void {
    this.#isWhole = false;
    this.#budget.give(this.#length);
    this.#length = 0;
    this.#bytes = noBytes;
  }
}

export interface Continuation {
  readonly body: Buffer;
  readonly tokensBefore: number;
  /**
   * Rewrites the identity (id, model, time) of the second stream's events to that of the first stream, and its usage to that of
   * both: the second replica counts the first one's output as a part of its prompt.
   */
  rewrite(events: Buffer): Buffer;
}

interface Chunk {
  id?: unknown;
  created?: unknown;
  model?: unknown;
  choices?: {
    delta?: { role?: unknown; content?: unknown; [key: string]: unknown };
    text?: unknown;
    finish_reason?: unknown;
  }[];
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown } | null;
}

/** Returns undefined if the stream holds anything that a text prefix cannot express. */
export function continuationOf(
  request: ExchangeRequest,
  route: PoolRoute,
  record: StreamRecord,
): Continuation | undefined {
  const sent = record.text();
  if (sent === undefined) return undefined;
  const chunks = chunksOf(sent);
  const first = chunks?.[0];
  if (chunks === undefined || first === undefined) return undefined;
  let text = "";
  let tokenCount = 0;
  for (const { choices } of chunks) {
    const [choice] = choices ?? [];
    if (choice === undefined) continue;
    if (choice.finish_reason != null) return undefined;
    const piece = textPieceOf(choice);
    if (piece === undefined) return undefined;
    if (piece !== "") tokenCount++;
    text += piece;
  }
  const body = bodyWithPrefix(request, route, { text, tokenCount });
  if (body === undefined) return undefined;
  return { body, tokensBefore: tokenCount, rewrite: (events) => rewritten(events, first, tokenCount) };
}

type Choice = NonNullable<Chunk["choices"]>[number];

function textPieceOf(choice: Choice): string | undefined {
  if (typeof choice.text === "string") return choice.text;
  const { delta } = choice;
  if (delta == null) return "";
  const others = Object.entries(delta).filter(
    ([key, value]) => key !== "role" && key !== "content" && value != null && value !== "",
  );
  if (others.length > 0) return undefined;
  return typeof delta.content === "string" ? delta.content : "";
}

function bodyWithPrefix(
  request: ExchangeRequest,
  route: PoolRoute,
  prefix: { readonly text: string; readonly tokenCount: number },
): Buffer | undefined {
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(request.body.toString("utf8")) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  body["model"] = route.upstreamModel;
  body["stream_options"] = { ...(body["stream_options"] as object | undefined), include_usage: true };
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
    // The text is nested too deeply for the parser's stack.
    return undefined;
  }
}

/**
 * The conversation with the beginning of its answer. `isContinued`: the client itself asked to continue the last message.
 * Undefined if that message is not a text.
 */
function withAnswer(messages: readonly unknown[], text: string, isContinued: boolean): readonly unknown[] | undefined {
  if (!isContinued) return [...messages, { role: "assistant", content: text }];
  const last = messages.at(-1) as { readonly content?: unknown } | null | undefined;
  if (typeof last?.content !== "string") return undefined;
  return [...messages.slice(0, -1), { ...last, content: last.content + text }];
}

function chunksOf(events: string): Chunk[] | undefined {
  const chunks: Chunk[] = [];
  for (const event of events.split(/\r?\n\r?\n/)) {
    const data = dataOf(event);
    if (data === undefined || data === "[DONE]") continue;
    const chunk = chunkOf(data);
    if (chunk === undefined) return undefined;
    chunks.push(chunk);
  }
  return chunks;
}

/** Undefined if the data is no chunk of a completion. */
function chunkOf(data: string): Chunk | undefined {
  try {
    const chunk = JSON.parse(data) as Chunk | null;
    const isChunk = typeof chunk === "object" && chunk !== null && Array.isArray(chunk.choices ?? []);
    return isChunk && (chunk.choices ?? []).every((each: unknown) => typeof each === "object" && each !== null)
      ? chunk
      : undefined;
  } catch {
    return undefined;
  }
}

function dataOf(event: string): string | undefined {
  return event.startsWith("data: ") ? event.slice(6) : event.startsWith("data:") ? event.slice(5) : undefined;
}

function rewritten(events: Buffer, first: Chunk, tokensBefore: number): Buffer {
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
    const { id, created, model } = first;
    const usage = chunk.usage == null ? {} : { usage: usageOfBoth(chunk.usage, tokensBefore) };
    output.push(`data: ${JSON.stringify({ ...chunk, id, created, model, ...usage })}\n\n`);
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
