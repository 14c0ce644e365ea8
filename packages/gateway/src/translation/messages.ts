/**
 * Translates Anthropic's Messages API to chat completions and back: https://docs.anthropic.com/en/api/messages and
 * …/messages-streaming.
 */
import { shown, type FieldCheck } from "./field-check.ts";
import { isText } from "./translator.ts";
import type {
  AnswerTranslation,
  ChatAnswer,
  ChatChunk,
  ChatUsage,
  Json,
  JsonObject,
  ToolCallDelta,
} from "./translator.ts";

/** Fields of a request. Those without a use below are ignorable: the answer does not depend on them. */
const requestFields = new Set([
  "model",
  "max_tokens",
  "messages",
  "stream",
  "system",
  "stop_sequences",
  "temperature",
  "top_p",
  "tools",
  "tool_choice",
  "output_config",
  "thinking",
  "speed",
  "cache_control",
  "diagnostics",
  "metadata",
  "service_tier",
]);
const messageFields = new Set(["role", "content"]);
const textFields = new Set(["type", "text", "cache_control"]);
const imageFields = new Set(["type", "source", "cache_control"]);
const sourceFields = new Set(["type", "url", "media_type", "data"]);
const useFields = new Set(["type", "id", "name", "input", "caller", "cache_control"]);
const resultFields = new Set(["type", "tool_use_id", "content", "is_error", "cache_control"]);
const choiceFields = new Set(["type", "name", "disable_parallel_tool_use"]);
const outputFields = new Set(["format", "effort"]);
const formatFields = new Set(["type", "schema"]);
const toolFields = new Set([
  "type",
  "name",
  "description",
  "input_schema",
  "strict",
  "allowed_callers",
  "defer_loading",
  "cache_control",
  "eager_input_streaming",
]);
/** Callers of a tool: without a container in which code runs, only the model. */
const directCallers = { name: "allowed_callers", values: [["direct"]] };

export function chatOfMessages(body: JsonObject, check: FieldCheck): JsonObject {
  check.fields(body, "", requestFields);
  // An adaptive model may answer without thinking, so an answer without it is correct.
  for (const thinking of check.object(body["thinking"], "thinking")) {
    check.only(thinking, "thinking", { name: "type", values: ["disabled", "adaptive"] });
  }
  check.only(body, "", { name: "speed", values: ["standard"] });
  const messages: Json[] = [];
  const system = textOf(body["system"], "system", check);
  if (system !== "") messages.push({ role: "system", content: system });
  const given = check.objects(body["messages"], "messages");
  for (const [index, message] of given.entries()) {
    messages.push(...chatMessagesOf(message, `messages[${index}]`, check));
  }
  if (given.at(-1)?.["role"] === "assistant") {
    check.refuse(`messages[${given.length - 1}].role`, "must not be `assistant` in the last message (prefill)");
  }
  const tools = check.objects(body["tools"], "tools").map((tool, index) => toolOf(tool, `tools[${index}]`, check));
  const isStream = body["stream"] === true;
  const [output = {}] = check.object(body["output_config"], "output_config");
  check.fields(output, "output_config", outputFields);
  return {
    model: body["model"],
    messages,
    max_tokens: body["max_tokens"],
    stop: body["stop_sequences"],
    temperature: body["temperature"],
    top_p: body["top_p"],
    tools: tools.length === 0 ? undefined : tools,
    ...toolChoiceOf(body["tool_choice"], check),
    response_format: formatOf(output["format"], check),
    reasoning_effort: output["effort"] ?? undefined,
    stream: isStream,
    stream_options: isStream ? { include_usage: true } : undefined,
  };
}

function toolOf(tool: JsonObject, at: string, check: FieldCheck): JsonObject {
  check.only(tool, at, { name: "type", values: ["custom"] });
  check.only(tool, at, directCallers);
  check.only(tool, at, { name: "defer_loading", values: [false] });
  check.fields(tool, at, toolFields);
  const { name, description, strict } = tool;
  return {
    type: "function",
    function: { name, description, strict: strict ?? undefined, parameters: tool["input_schema"] },
  };
}

/** The text of a string or of a list of text blocks. */
function textOf(value: Json | undefined, at: string, check: FieldCheck): string {
  if (typeof value === "string") return value;
  const texts: string[] = [];
  for (const [index, block] of check.objects(value, at).entries()) {
    if (block["type"] === "text") texts.push(blockText(block, `${at}[${index}]`, check));
    else check.refuse(`${at}[${index}].type`, `cannot be translated with the value ${shown(block["type"])}`);
  }
  return texts.join("\n");
}

function blockText(block: JsonObject, at: string, check: FieldCheck): string {
  const { citations, ...rest } = block;
  // The SDK sends an answer's blocks back as it got them, with `citations: null`.
  if (Array.isArray(citations) ? citations.length > 0 : citations != null) {
    check.refuse(`${at}.citations`, "cannot be translated");
  }
  check.fields(rest, at, textFields);
  return check.text(block["text"], `${at}.text`);
}

/** In the chat protocol, tool results are separate messages before the user's text. */
function chatMessagesOf(message: JsonObject, at: string, check: FieldCheck): readonly JsonObject[] {
  check.fields(message, at, messageFields);
  const { role, content } = message;
  const place = `${at}.content`;
  if (typeof content === "string") return [{ role, content }];
  if (role === "system") return [{ role, content: textOf(content, place, check) }];
  if (role === "assistant") return [answerOf(content, place, check)];
  check.only(message, at, { name: "role", values: ["user"] });
  const results: JsonObject[] = [];
  const parts: JsonObject[] = [];
  for (const [index, block] of check.objects(content, place).entries()) {
    const blockAt = `${place}[${index}]`;
    if (block["type"] === "tool_result") results.push(resultOf(block, blockAt, check));
    else if (block["type"] === "text") parts.push({ type: "text", text: blockText(block, blockAt, check) });
    else if (block["type"] === "image") parts.push(imageOf(block, blockAt, check));
    else check.refuse(`${blockAt}.type`, `cannot be translated with the value ${shown(block["type"])}`);
  }
  return parts.length === 0 ? results : [...results, { role, content: parts }];
}

function answerOf(content: Json | undefined, at: string, check: FieldCheck): JsonObject {
  const texts: string[] = [];
  const calls: Json[] = [];
  for (const [index, block] of check.objects(content, at).entries()) {
    const blockAt = `${at}[${index}]`;
    switch (block["type"]) {
      case "text":
        texts.push(blockText(block, blockAt, check));
        break;
      case "tool_use":
        check.fields(block, blockAt, useFields);
        check.only(block, blockAt, { name: "caller", values: [{ type: "direct" }] });
        calls.push({
          id: block["id"],
          type: "function",
          function: { name: block["name"], arguments: JSON.stringify(block["input"] ?? {}) },
        });
        break;
      // Thinking of earlier turns is no part of the prompt; chat templates leave it out, too.
      case "thinking":
      case "redacted_thinking":
        break;
      default:
        check.refuse(`${blockAt}.type`, `cannot be translated with the value ${shown(block["type"])}`);
    }
  }
  return { role: "assistant", content: texts.join("\n"), tool_calls: calls.length === 0 ? undefined : calls };
}

/** The chat protocol has no flag for a failed call, so the text states it. */
function resultOf(block: JsonObject, at: string, check: FieldCheck): JsonObject {
  check.fields(block, at, resultFields);
  const text = textOf(block["content"], `${at}.content`, check);
  return {
    role: "tool",
    tool_call_id: block["tool_use_id"],
    content: block["is_error"] === true ? `Error: ${text}` : text,
  };
}

function imageOf(block: JsonObject, at: string, check: FieldCheck): JsonObject {
  check.fields(block, at, imageFields);
  const [source = {}] = check.object(block["source"], `${at}.source`);
  check.fields(source, `${at}.source`, sourceFields);
  if (source["type"] === "url") {
    return { type: "image_url", image_url: { url: check.text(source["url"], `${at}.source.url`) } };
  }
  if (source["type"] !== "base64") {
    check.refuse(`${at}.source.type`, `cannot be translated with the value ${shown(source["type"])}`);
    return {};
  }
  const mediaType = check.text(source["media_type"], `${at}.source.media_type`);
  const data = check.text(source["data"], `${at}.source.data`);
  return { type: "image_url", image_url: { url: `data:${mediaType};base64,${data}` } };
}

function toolChoiceOf(choice: Json | undefined, check: FieldCheck): JsonObject {
  const [given] = check.object(choice, "tool_choice");
  if (given === undefined) return {};
  check.fields(given, "tool_choice", choiceFields);
  check.only(given, "tool_choice", { name: "type", values: ["auto", "any", "tool", "none"] });
  const { type, name, disable_parallel_tool_use: isSingle } = given;
  const chosen =
    type === "any" ? "required" : type === "tool" ? { type: "function", function: { name } } : (type ?? "auto");
  return { tool_choice: chosen, ...(isSingle === true ? { parallel_tool_calls: false } : {}) };
}

function formatOf(value: Json | undefined, check: FieldCheck): JsonObject | undefined {
  const [format] = check.object(value, "output_config.format");
  if (format === undefined) return undefined;
  check.fields(format, "output_config.format", formatFields);
  check.only(format, "output_config.format", { name: "type", values: ["json_schema"] });
  return { type: "json_schema", json_schema: { name: "answer", schema: format["schema"], strict: true } };
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

function stopReasonOf(finishReason: string | null | undefined): string {
  return stopReasons[finishReason ?? "stop"] ?? "end_turn";
}

/** The source of a block's text. Text and refusal are blocks of their own. */
type BlockKind = "text" | "refusal" | "tool";

export class MessagesAnswer implements AnswerTranslation {
  readonly keepsStream = false;
  readonly #id: string;
  readonly #model: string;
  #block: { readonly index: number; readonly kind: BlockKind; readonly call: number } | undefined;
  #blockCount = 0;
  #hasBegun = false;
  #stopReason = "end_turn";
  #isRefused = false;
  #usage = usageOf(undefined);

  constructor(id: string, model: string) {
    this.#id = `msg_${id}`;
    this.#model = model;
  }

  whole(answer: ChatAnswer): JsonObject {
    const [choice] = answer.choices ?? [];
    const content: Json[] = [];
    const { content: text, refusal } = choice?.message ?? {};
    // The Messages API has no part for a refusal: its text is a text, and the stop reason says what it is.
    for (const each of [text, refusal]) if (isText(each)) content.push({ type: "text", text: each });
    for (const { id, function: call } of choice?.message?.tool_calls ?? []) {
      content.push({ type: "tool_use", id: id ?? "", name: call?.name ?? "", input: parsed(call?.arguments ?? "") });
    }
    return {
      id: this.#id,
      type: "message",
      role: "assistant",
      model: this.#model,
      content,
      stop_reason: isText(refusal) ? "refusal" : stopReasonOf(choice?.finish_reason),
      stop_sequence: null,
      usage: usageOf(answer.usage),
    };
  }

  chunk({ choices, usage }: ChatChunk): string {
    let events = this.#begin();
    if (usage != null) this.#usage = usageOf(usage);
    const [choice] = choices ?? [];
    const { content, refusal, tool_calls: calls } = choice?.delta ?? {};
    if (isText(content)) events += this.#textDelta("text", content);
    if (isText(refusal)) {
      this.#isRefused = true;
      events += this.#textDelta("refusal", refusal);
    }
    for (const call of calls ?? []) events += this.#toolDelta(call);
    if (choice?.finish_reason != null) this.#stopReason = stopReasonOf(choice.finish_reason);
    return events;
  }

  done(): string {
    return (
      this.#begin() +
      this.#close() +
      event("message_delta", {
        delta: { stop_reason: this.#isRefused ? "refusal" : this.#stopReason, stop_sequence: null },
        usage: this.#usage,
      }) +
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

  #textDelta(kind: "text" | "refusal", text: string): string {
    return (
      this.#open(kind, -1, { type: "text", text: "" }) +
      event("content_block_delta", { index: this.#block!.index, delta: { type: "text_delta", text } })
    );
  }

  #open(kind: BlockKind, call: number, block: JsonObject): string {
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
