/**
 * Translates Anthropic's Messages API to chat completions and back: https://docs.anthropic.com/en/api/messages and
 * …/messages-streaming.
 */
import {
  objectsOf,
  textOrEmpty,
  type AnswerTranslation,
  type ChatAnswer,
  type ChatChunk,
  type ChatUsage,
  type Json,
  type JsonObject,
  type ToolCallDelta,
} from "./translator.ts";

export function chatOfMessages(body: JsonObject): JsonObject {
  const messages: Json[] = [];
  const system = typeof body["system"] === "string" ? body["system"] : textOfBlocks(body["system"]);
  if (system !== "") messages.push({ role: "system", content: system });
  for (const message of objectsOf(body["messages"])) messages.push(...chatMessagesOf(message));
  const tools = objectsOf(body["tools"]).map((tool) => ({
    type: "function",
    function: { name: tool["name"], description: tool["description"], parameters: tool["input_schema"] },
  }));
  const isStream = body["stream"] === true;
  return {
    model: body["model"],
    messages,
    max_tokens: body["max_tokens"],
    stop: body["stop_sequences"],
    temperature: body["temperature"],
    top_p: body["top_p"],
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: toolChoiceOf(body["tool_choice"]),
    stream: isStream,
    stream_options: isStream ? { include_usage: true } : undefined,
  };
}

function textOfBlocks(blocks: Json | undefined): string {
  return objectsOf(blocks)
    .filter((block) => block["type"] === "text")
    .map((block) => textOrEmpty(block["text"]))
    .join("\n");
}

/** In the chat protocol, tool results are separate messages before the user's text. */
function chatMessagesOf(message: JsonObject): readonly JsonObject[] {
  const { role, content } = message;
  if (typeof content === "string") return [{ role, content }];
  const blocks = objectsOf(content);
  if (role === "assistant") {
    const calls = blocks
      .filter((block) => block["type"] === "tool_use")
      .map((block) => ({
        id: block["id"],
        type: "function",
        function: { name: block["name"], arguments: JSON.stringify(block["input"] ?? {}) },
      }));
    return [{ role, content: textOfBlocks(content), tool_calls: calls.length === 0 ? undefined : calls }];
  }
  const results = blocks
    .filter((block) => block["type"] === "tool_result")
    .map((block) => ({
      role: "tool",
      tool_call_id: block["tool_use_id"],
      content: typeof block["content"] === "string" ? block["content"] : textOfBlocks(block["content"]),
    }));
  const parts = blocks.flatMap((block) => partOf(block));
  return parts.length === 0 ? results : [...results, { role, content: parts }];
}

function partOf(block: JsonObject): readonly JsonObject[] {
  if (block["type"] === "text") return [{ type: "text", text: block["text"] }];
  if (block["type"] !== "image") return [];
  const source = (block["source"] ?? {}) as JsonObject;
  const url =
    source["type"] === "url"
      ? source["url"]
      : `data:${textOrEmpty(source["media_type"])};base64,${textOrEmpty(source["data"])}`;
  return [{ type: "image_url", image_url: { url } }];
}

function toolChoiceOf(choice: Json | undefined): Json | undefined {
  const { type, name } = (choice ?? {}) as JsonObject;
  if (type === "any") return "required";
  if (type === "tool") return { type: "function", function: { name } };
  return type === "auto" || type === "none" ? type : undefined;
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

export class MessagesAnswer implements AnswerTranslation {
  readonly #id: string;
  readonly #model: string;
  #block: { readonly index: number; readonly kind: "text" | "tool"; readonly call: number } | undefined;
  #blockCount = 0;
  #hasBegun = false;
  #stopReason = "end_turn";
  #usage = usageOf(undefined);

  constructor(id: string, model: string) {
    this.#id = `msg_${id}`;
    this.#model = model;
  }

  whole(answer: ChatAnswer): JsonObject {
    const [choice] = answer.choices ?? [];
    const content: Json[] = [];
    const text = choice?.message?.content ?? "";
    if (text !== "") content.push({ type: "text", text });
    for (const { id, function: call } of choice?.message?.tool_calls ?? []) {
      content.push({ type: "tool_use", id: id ?? "", name: call?.name ?? "", input: parsed(call?.arguments ?? "") });
    }
    return {
      id: this.#id,
      type: "message",
      role: "assistant",
      model: this.#model,
      content,
      stop_reason: stopReasons[choice?.finish_reason ?? "stop"] ?? "end_turn",
      stop_sequence: null,
      usage: usageOf(answer.usage),
    };
  }

  chunk({ choices, usage }: ChatChunk): string {
    let events = this.#begin();
    if (usage != null) this.#usage = usageOf(usage);
    const [choice] = choices ?? [];
    const text = choice?.delta?.content ?? "";
    if (text !== "") {
      events += this.#open("text", -1, { type: "text", text: "" });
      events += event("content_block_delta", { index: this.#block!.index, delta: { type: "text_delta", text } });
    }
    for (const call of choice?.delta?.tool_calls ?? []) events += this.#toolDelta(call);
    if (choice?.finish_reason != null) this.#stopReason = stopReasons[choice.finish_reason] ?? "end_turn";
    return events;
  }

  done(): string {
    return (
      this.#begin() +
      this.#close() +
      event("message_delta", { delta: { stop_reason: this.#stopReason, stop_sequence: null }, usage: this.#usage }) +
      event("message_stop", {})
    );
  }

  #begin(): string {
    if (this.#hasBegun) return "";
    this.#hasBegun = true;
    const message = {
      id: this.#id,
      type: "message",
      role: "assistant",
      model: this.#model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: this.#usage,
    };
    return event("message_start", { message });
  }

  #toolDelta({ index = 0, id, function: call }: ToolCallDelta): string {
    let events = this.#open("tool", index, { type: "tool_use", id: id ?? "", name: call?.name ?? "", input: {} });
    const partial = call?.arguments ?? "";
    if (partial !== "") {
      events += event("content_block_delta", {
        index: this.#block!.index,
        delta: { type: "input_json_delta", partial_json: partial },
      });
    }
    return events;
  }

  #open(kind: "text" | "tool", call: number, block: JsonObject): string {
    if (this.#block?.kind === kind && this.#block.call === call) return "";
    const closed = this.#close();
    this.#block = { index: this.#blockCount, kind, call };
    this.#blockCount++;
    return closed + event("content_block_start", { index: this.#block.index, content_block: block });
  }

  #close(): string {
    if (this.#block === undefined) return "";
    const { index } = this.#block;
    this.#block = undefined;
    return event("content_block_stop", { index });
  }
}

/**
 * Anthropic does not include cached tokens in `input_tokens`; the chat protocol includes them in the prompt's tokens.
 */
function usageOf(usage: ChatUsage | undefined): JsonObject {
  const { prompt_tokens: prompt = 0, completion_tokens: output = 0 } = usage ?? {};
  const cached = Math.min(prompt, usage?.prompt_tokens_details?.cached_tokens ?? 0);
  return {
    input_tokens: prompt - cached,
    cache_read_input_tokens: cached > 0 ? cached : undefined,
    output_tokens: output,
  };
}

function event(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text === "" ? "{}" : text) as Json;
  } catch {
    return { text };
  }
}
