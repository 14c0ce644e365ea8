/**
 * Translates OpenAI's Responses API to chat completions and back:
 * https://platform.openai.com/docs/api-reference/responses. It is stateless: nothing is stored.
 */
import { shown, type FieldCheck } from "./field-check.ts";
import { isText } from "./translator.ts";
import type { AnswerTranslation, ChatAnswer, ChatChunk, Json, JsonObject, ToolCallDelta } from "./translator.ts";

/** Fields of a request. Those without a use below are ignorable: the answer does not depend on them. */
const requestFields = new Set([
  "model",
  "input",
  "instructions",
  "max_output_tokens",
  "temperature",
  "top_p",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "text",
  "reasoning",
  "stream",
  "stream_options",
  "include",
  "store",
  "background",
  "truncation",
  "top_logprobs",
  "prompt_cache_key",
  // Limits the calls of built-in tools, which are refused.
  "max_tool_calls",
  "metadata",
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
  "user",
]);
/** Parts of the answer that only built-in tools and reasoning items have. Log probabilities are not among them. */
const includable = new Set<Json>([
  "reasoning.encrypted_content",
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
  "message.input_image.image_url",
]);
const reasoningFields = new Set(["effort", "summary", "generate_summary", "context", "mode"]);
const textFields = new Set(["format", "verbosity"]);
const formatFields = new Set(["type", "name", "schema", "strict", "description"]);
const toolFields = new Set([
  "type",
  "name",
  "description",
  "parameters",
  "strict",
  "allowed_callers",
  "async",
  "defer_loading",
]);
const messageFields = new Set(["type", "role", "content", "id", "status", "phase"]);
const callFields = new Set(["type", "id", "call_id", "name", "arguments", "status", "caller", "async"]);
const outputFields = new Set(["type", "id", "call_id", "output", "name", "status", "caller"]);
const inputTextFields = new Set(["type", "text", "prompt_cache_breakpoint"]);
const outputTextFields = new Set(["type", "text", "annotations", "logprobs"]);
const imageFields = new Set(["type", "image_url", "detail", "prompt_cache_breakpoint"]);
const audioFields = new Set(["type", "input_audio"]);
const directCaller = { name: "caller", values: [{ type: "direct" }] };

export function chatOfResponses(body: JsonObject, check: FieldCheck): JsonObject {
  checkRequest(body, check);
  const messages: JsonObject[] = [];
  const { instructions, input } = body;
  if (instructions != null) messages.push({ role: "system", content: check.text(instructions, "instructions") });
  if (typeof input === "string") messages.push({ role: "user", content: input });
  else addItems(messages, input, check);
  const tools = check.objects(body["tools"], "tools").map((tool, index) => toolOf(tool, `tools[${index}]`, check));
  const [text = {}] = check.object(body["text"], "text");
  check.fields(text, "text", textFields);
  const [reasoning = {}] = check.object(body["reasoning"], "reasoning");
  const isStream = body["stream"] === true;
  return {
    model: body["model"],
    messages,
    max_tokens: body["max_output_tokens"],
    temperature: body["temperature"],
    top_p: body["top_p"],
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: toolChoiceOf(body["tool_choice"], check),
    parallel_tool_calls: body["parallel_tool_calls"],
    response_format: formatOf(text["format"], check),
    reasoning_effort: reasoning["effort"] ?? undefined,
    verbosity: text["verbosity"] ?? undefined,
    prompt_cache_key: body["prompt_cache_key"] ?? undefined,
    stream: isStream,
    stream_options: isStream ? { include_usage: true } : undefined,
  };
}

function checkRequest(body: JsonObject, check: FieldCheck): void {
  const { previous_response_id: previous, ...others } = body;
  if (previous != null) {
    check.refuse(
      "previous_response_id",
      "needs a model server that stores responses; send the conversation as `input`",
    );
  }
  check.fields(others, "", requestFields);
  check.only(body, "", { name: "store", values: [false] });
  check.only(body, "", { name: "background", values: [false] });
  check.only(body, "", { name: "truncation", values: ["disabled"] });
  check.only(body, "", { name: "top_logprobs", values: [0] });
  const included = body["include"] ?? [];
  for (const each of Array.isArray(included) ? included : [included]) {
    if (!includable.has(each)) check.refuse("include", `cannot be translated with the value ${shown(each)}`);
  }
  for (const reasoning of check.object(body["reasoning"], "reasoning")) {
    check.fields(reasoning, "reasoning", reasoningFields);
    // `auto` asks for the best summary that there is. A chat completion has none.
    for (const name of ["summary", "generate_summary", "context"]) {
      check.only(reasoning, "reasoning", { name, values: ["auto"] });
    }
    check.only(reasoning, "reasoning", { name: "mode", values: ["standard"] });
  }
}

function toolOf(tool: JsonObject, at: string, check: FieldCheck): JsonObject {
  const { name, description, parameters, strict } = tool;
  if (tool["type"] !== "function") {
    check.refuse(`${at}.type`, `cannot be translated with the value ${shown(tool["type"])}`);
    return {};
  }
  check.fields(tool, at, toolFields);
  check.only(tool, at, { name: "allowed_callers", values: [["direct"]] });
  check.only(tool, at, { name: "async", values: [false] });
  check.only(tool, at, { name: "defer_loading", values: [false] });
  return { type: "function", function: { name, description, parameters, strict } };
}

/** Calls that follow one another are calls of one answer, which the chat protocol has in one message. */
function addItems(messages: JsonObject[], input: Json | undefined, check: FieldCheck): void {
  let calls: Json[] | undefined;
  for (const [index, item] of check.objects(input, "input").entries()) {
    const at = `input[${index}]`;
    if (item["type"] === "function_call") {
      if (calls === undefined) {
        calls = [];
        messages.push({ role: "assistant", content: null, tool_calls: calls });
      }
      calls.push(callOf(item, at, check));
      continue;
    }
    // Reasoning of earlier turns is no part of the prompt; chat templates leave it out, too.
    if (item["type"] === "reasoning") continue;
    calls = undefined;
    messages.push(item["type"] === "function_call_output" ? outputOf(item, at, check) : messageOf(item, at, check));
  }
}

function callOf(item: JsonObject, at: string, check: FieldCheck): JsonObject {
  check.fields(item, at, callFields);
  check.only(item, at, directCaller);
  check.only(item, at, { name: "async", values: [false] });
  return { id: item["call_id"], type: "function", function: { name: item["name"], arguments: item["arguments"] } };
}

function outputOf(item: JsonObject, at: string, check: FieldCheck): JsonObject {
  check.fields(item, at, outputFields);
  check.only(item, at, directCaller);
  const { output } = item;
  const content =
    typeof output === "string"
      ? output
      : check
          .objects(output, `${at}.output`)
          .map((part, index) => textPartOf(part, `${at}.output[${index}]`, check))
          .join("\n");
  return { role: "tool", tool_call_id: item["call_id"], content };
}

function messageOf(item: JsonObject, at: string, check: FieldCheck): JsonObject {
  if (item["type"] != null && item["type"] !== "message") {
    check.refuse(`${at}.type`, `cannot be translated with the value ${shown(item["type"])}`);
    return {};
  }
  check.fields(item, at, messageFields);
  check.only(item, at, { name: "role", values: ["user", "assistant", "system", "developer"] });
  const { content } = item;
  const role = item["role"] === "developer" ? "system" : item["role"];
  if (typeof content === "string") return { role, content };
  const parts = check.objects(content, `${at}.content`);
  const place = (index: number): string => `${at}.content[${index}]`;
  if (role === "user") return { role, content: parts.map((part, index) => partOf(part, place(index), check)) };
  const texts = parts.map((part, index) => textPartOf(part, place(index), check));
  return role === "assistant"
    ? { role, content: texts.join("") }
    : { role, content: texts.map((text) => ({ type: "text", text })) };
}

function partOf(part: JsonObject, at: string, check: FieldCheck): JsonObject {
  if (part["type"] === "input_image") {
    check.fields(part, at, imageFields);
    const { detail } = part;
    const url = check.text(part["image_url"], `${at}.image_url`);
    return { type: "image_url", image_url: detail == null ? { url } : { url, detail } };
  }
  if (part["type"] === "input_audio") {
    check.fields(part, at, audioFields);
    return { type: "input_audio", input_audio: part["input_audio"] };
  }
  return { type: "text", text: textPartOf(part, at, check) };
}

function textPartOf(part: JsonObject, at: string, check: FieldCheck): string {
  switch (part["type"]) {
    case "input_text":
      check.fields(part, at, inputTextFields);
      return check.text(part["text"], `${at}.text`);
    case "output_text":
      check.fields(part, at, outputTextFields);
      return check.text(part["text"], `${at}.text`);
    case "refusal":
      return check.text(part["refusal"], `${at}.refusal`);
    default:
      check.refuse(`${at}.type`, `cannot be translated with the value ${shown(part["type"])}`);
      return "";
  }
}

function toolChoiceOf(choice: Json | undefined, check: FieldCheck): Json | undefined {
  if (choice == null) return undefined;
  if (typeof choice === "string") {
    check.only({ tool_choice: choice }, "", { name: "tool_choice", values: ["none", "auto", "required"] });
    return choice;
  }
  const [given = {}] = check.object(choice, "tool_choice");
  check.only(given, "tool_choice", { name: "type", values: ["function"] });
  return { type: "function", function: { name: given["name"] } };
}

function formatOf(value: Json | undefined, check: FieldCheck): JsonObject | undefined {
  const [format] = check.object(value, "text.format");
  if (format === undefined || format["type"] === "text") return undefined;
  check.fields(format, "text.format", formatFields);
  check.only(format, "text.format", { name: "type", values: ["json_schema", "json_object"] });
  if (format["type"] !== "json_schema") return { type: format["type"] };
  const { name, schema, strict, description } = format;
  return { type: "json_schema", json_schema: { name, schema, strict, description } };
}

/** An item of an answer. A refusal is a message of its own. */
interface Item {
  readonly kind: "message" | "refusal" | "call";
  readonly call: number;
  readonly id: string;
  callId: string;
  name: string;
  text: string;
}

export class ResponsesAnswer implements AnswerTranslation {
  readonly keepsStream = true;
  readonly #id: string;
  /** The request without its `input`, which can be large and is no part of a response. */
  readonly #request: JsonObject;
  readonly #createdAt: number;
  readonly #items: Item[] = [];
  #sequence = 0;
  #hasBegun = false;
  /** Why the answer is not complete, if it is not. */
  #incompleteReason: string | undefined;
  #usage: JsonObject | null = null;

  constructor(id: string, request: JsonObject, nowMs: number) {
    this.#id = id;
    const { input: _, ...echoed } = request;
    this.#request = echoed;
    this.#createdAt = Math.floor(nowMs / 1000);
  }

  whole(answer: ChatAnswer): JsonObject {
    const [choice] = answer.choices ?? [];
    const { content, refusal } = choice?.message ?? {};
    if (isText(content)) this.#add("message", -1).text = content;
    if (isText(refusal)) this.#add("refusal", -1).text = refusal;
    for (const [index, { id, function: call }] of (choice?.message?.tool_calls ?? []).entries()) {
      const item = this.#add("call", index);
      item.callId = id ?? "";
      item.name = call?.name ?? "";
      item.text = call?.arguments ?? "";
    }
    this.#incompleteReason = incompleteReasonOf(choice?.finish_reason);
    this.#count(answer.usage);
    return this.#response(this.#endStatus);
  }

  chunk({ choices, usage }: ChatChunk): string {
    let events = this.#begin();
    this.#count(usage ?? undefined);
    const [choice] = choices ?? [];
    const { content, refusal, tool_calls: calls } = choice?.delta ?? {};
    if (isText(content)) events += this.#textDelta("message", content);
    if (isText(refusal)) events += this.#textDelta("refusal", refusal);
    for (const call of calls ?? []) events += this.#callDelta(call);
    this.#incompleteReason ??= incompleteReasonOf(choice?.finish_reason);
    return events;
  }

  done(): string {
    const status = this.#endStatus;
    return this.#begin() + this.#close() + this.#event(`response.${status}`, { response: this.#response(status) });
  }

  get #endStatus(): "completed" | "incomplete" {
    return this.#incompleteReason === undefined ? "completed" : "incomplete";
  }

  #begin(): string {
    if (this.#hasBegun) return "";
    this.#hasBegun = true;
    const response = this.#response("in_progress");
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  #textDelta(kind: "message" | "refusal", delta: string): string {
    let events = "";
    let item = this.#items.at(-1);
    if (item?.kind !== kind) {
      events += this.#close();
      item = this.#add(kind, -1);
      events += this.#added(item);
      events += this.#event("response.content_part.added", {
        ...this.#place(item),
        content_index: 0,
        part: partOfItem(item),
      });
    }
    item.text += delta;
    const place = { ...this.#place(item), content_index: 0 };
    return (
      events +
      (kind === "refusal"
        ? this.#event("response.refusal.delta", { ...place, delta })
        : this.#event("response.output_text.delta", { ...place, delta, logprobs: [] }))
    );
  }

  #callDelta({ index = 0, id, function: call }: ToolCallDelta): string {
    let events = "";
    let item = this.#items.at(-1);
    if (item?.kind !== "call" || item.call !== index) {
      events += this.#close();
      item = this.#add("call", index);
      item.callId = id ?? "";
      item.name = call?.name ?? "";
      events += this.#added(item);
    }
    const delta = call?.arguments ?? "";
    if (delta === "") return events;
    item.text += delta;
    return events + this.#event("response.function_call_arguments.delta", { ...this.#place(item), delta });
  }

  /** Returns the events that end the item in progress. */
  #close(): string {
    const item = this.#items.at(-1);
    if (item === undefined) return "";
    const place = this.#place(item);
    const ended =
      item.kind === "call"
        ? this.#event("response.function_call_arguments.done", { ...place, arguments: item.text, name: item.name })
        : this.#textDone(item) +
          this.#event("response.content_part.done", { ...place, content_index: 0, part: partOfItem(item) });
    return (
      ended +
      this.#event("response.output_item.done", {
        output_index: place.output_index,
        item: itemObject(item, "completed"),
      })
    );
  }

  #textDone(item: Item): string {
    const place = { ...this.#place(item), content_index: 0 };
    return item.kind === "refusal"
      ? this.#event("response.refusal.done", { ...place, refusal: item.text })
      : this.#event("response.output_text.done", { ...place, text: item.text, logprobs: [] });
  }

  #add(kind: Item["kind"], call: number): Item {
    const item: Item = {
      kind,
      call,
      id: `${kind === "call" ? "fc" : "msg"}_${this.#id}_${this.#items.length}`,
      callId: "",
      name: "",
      text: "",
    };
    this.#items.push(item);
    return item;
  }

  #added(item: Item): string {
    return this.#event("response.output_item.added", {
      output_index: this.#items.length - 1,
      item: itemObject(item, "in_progress"),
    });
  }

  #place(item: Item): { item_id: string; output_index: number } {
    return { item_id: item.id, output_index: this.#items.indexOf(item) };
  }

  #count(usage: ChatAnswer["usage"]): void {
    if (usage === undefined) return;
    const { prompt_tokens: input = 0, completion_tokens: output = 0 } = usage;
    this.#usage = {
      input_tokens: input,
      input_tokens_details: { cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
      total_tokens: input + output,
    };
  }

  #response(status: string): JsonObject {
    const request = this.#request;
    return {
      id: `resp_${this.#id}`,
      object: "response",
      created_at: this.#createdAt,
      status,
      error: null,
      incomplete_details: status === "incomplete" ? { reason: this.#incompleteReason } : null,
      instructions: request["instructions"] ?? null,
      max_output_tokens: request["max_output_tokens"] ?? null,
      model: request["model"],
      output: status === "in_progress" ? [] : this.#items.map((item) => itemObject(item, "completed")),
      parallel_tool_calls: request["parallel_tool_calls"] ?? true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      store: false,
      temperature: request["temperature"] ?? 1,
      text: request["text"] ?? { format: { type: "text" } },
      tool_choice: request["tool_choice"] ?? "auto",
      tools: request["tools"] ?? [],
      top_p: request["top_p"] ?? 1,
      truncation: "disabled",
      usage: this.#usage,
      metadata: request["metadata"] ?? {},
    };
  }

  #event(type: string, fields: JsonObject): string {
    const data = JSON.stringify({ type, sequence_number: this.#sequence, ...fields });
    this.#sequence++;
    return `event: ${type}\ndata: ${data}\n\n`;
  }
}

function incompleteReasonOf(finishReason: string | null | undefined): string | undefined {
  if (finishReason === "length") return "max_output_tokens";
  return finishReason === "content_filter" ? "content_filter" : undefined;
}

function partOfItem({ kind, text }: Item): JsonObject {
  return kind === "refusal"
    ? { type: "refusal", refusal: text }
    : { type: "output_text", text, annotations: [], logprobs: [] };
}

function itemObject(item: Item, status: string): JsonObject {
  if (item.kind === "call") {
    return { id: item.id, type: "function_call", status, call_id: item.callId, name: item.name, arguments: item.text };
  }
  return {
    id: item.id,
    type: "message",
    status,
    role: "assistant",
    content: status === "in_progress" ? [] : [partOfItem(item)],
  };
}
