/**
 * Translates OpenAI's Responses API to chat completions and back:
 * https://platform.openai.com/docs/api-reference/responses. It is stateless: nothing is stored.
 */
import {
  objectsOf,
  textOrEmpty,
  type AnswerTranslation,
  type ChatAnswer,
  type ChatChunk,
  type Json,
  type JsonObject,
  type ToolCallDelta,
} from "./translator.ts";

export function chatOfResponses(body: JsonObject): JsonObject {
  const messages: Json[] = [];
  if (typeof body["instructions"] === "string") messages.push({ role: "system", content: body["instructions"] });
  const { input } = body;
  if (typeof input === "string") messages.push({ role: "user", content: input });
  else for (const item of objectsOf(input)) messages.push(messageOf(item));
  const tools = objectsOf(body["tools"])
    .filter((tool) => tool["type"] === "function")
    .map(({ type, ...definition }) => ({ type, function: definition }));
  const format = ((body["text"] ?? {}) as JsonObject)["format"] as JsonObject | null | undefined;
  const isStream = body["stream"] === true;
  return {
    model: body["model"],
    messages,
    max_tokens: body["max_output_tokens"],
    temperature: body["temperature"],
    top_p: body["top_p"],
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: toolChoiceOf(body["tool_choice"]),
    parallel_tool_calls: body["parallel_tool_calls"],
    response_format: formatOf(format),
    stream: isStream,
    stream_options: isStream ? { include_usage: true } : undefined,
  };
}

function messageOf(item: JsonObject): JsonObject {
  if (item["type"] === "function_call_output") {
    const { output } = item;
    return {
      role: "tool",
      tool_call_id: item["call_id"],
      content: typeof output === "string" ? output : JSON.stringify(output),
    };
  }
  if (item["type"] === "function_call") {
    const call = {
      id: item["call_id"],
      type: "function",
      function: { name: item["name"], arguments: item["arguments"] },
    };
    return { role: "assistant", content: null, tool_calls: [call] };
  }
  const { content } = item;
  const role = item["role"] === "developer" ? "system" : item["role"];
  if (typeof content === "string") return { role, content };
  const parts = objectsOf(content).map((part) =>
    part["type"] === "input_image"
      ? { type: "image_url", image_url: { url: part["image_url"] } }
      : { type: "text", text: textOrEmpty(part["text"]) },
  );
  return {
    role,
    content: role === "assistant" ? parts.map((part) => ("text" in part ? part.text : "")).join("") : parts,
  };
}

function toolChoiceOf(choice: Json | undefined): Json | undefined {
  if (typeof choice !== "object" || choice === null || Array.isArray(choice)) return choice;
  return choice["type"] === "function" ? { type: "function", function: { name: choice["name"] } } : undefined;
}

function formatOf(format: JsonObject | null | undefined): JsonObject | undefined {
  if (format == null || format["type"] === "text") return undefined;
  if (format["type"] !== "json_schema") return { type: format["type"] };
  const { name, schema, strict, description } = format;
  return { type: "json_schema", json_schema: { name, schema, strict, description } };
}

interface Item {
  readonly kind: "message" | "call";
  readonly call: number;
  readonly id: string;
  callId: string;
  name: string;
  text: string;
}

export class ResponsesAnswer implements AnswerTranslation {
  readonly #id: string;
  readonly #request: JsonObject;
  readonly #createdAt: number;
  readonly #items: Item[] = [];
  #sequence = 0;
  #hasBegun = false;
  #isIncomplete = false;
  #usage: JsonObject | null = null;

  constructor(id: string, request: JsonObject, nowMs: number) {
    this.#id = id;
    this.#request = request;
    this.#createdAt = Math.floor(nowMs / 1000);
  }

  whole(answer: ChatAnswer): JsonObject {
    const [choice] = answer.choices ?? [];
    const text = choice?.message?.content ?? "";
    if (text !== "") this.#add("message", -1).text = text;
    for (const [index, { id, function: call }] of (choice?.message?.tool_calls ?? []).entries()) {
      const item = this.#add("call", index);
      item.callId = id ?? "";
      item.name = call?.name ?? "";
      item.text = call?.arguments ?? "";
    }
    this.#isIncomplete = choice?.finish_reason === "length";
    this.#count(answer.usage);
    return this.#response(this.#isIncomplete ? "incomplete" : "completed");
  }

  chunk({ choices, usage }: ChatChunk): string {
    let events = this.#begin();
    this.#count(usage ?? undefined);
    const [choice] = choices ?? [];
    const text = choice?.delta?.content ?? "";
    if (text !== "") events += this.#textDelta(text);
    for (const call of choice?.delta?.tool_calls ?? []) events += this.#callDelta(call);
    if (choice?.finish_reason === "length") this.#isIncomplete = true;
    return events;
  }

  done(): string {
    const status = this.#isIncomplete ? "incomplete" : "completed";
    return this.#begin() + this.#close() + this.#event(`response.${status}`, { response: this.#response(status) });
  }

  #begin(): string {
    if (this.#hasBegun) return "";
    this.#hasBegun = true;
    const response = this.#response("in_progress");
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  #textDelta(delta: string): string {
    let events = "";
    let item = this.#items.at(-1);
    if (item?.kind !== "message") {
      events += this.#close();
      item = this.#add("message", -1);
      events += this.#added(item);
      events += this.#event("response.content_part.added", {
        ...this.#place(item),
        content_index: 0,
        part: textPart(""),
      });
    }
    item.text += delta;
    return (
      events +
      this.#event("response.output_text.delta", { ...this.#place(item), content_index: 0, delta, logprobs: [] })
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
        : this.#event("response.output_text.done", { ...place, content_index: 0, text: item.text, logprobs: [] }) +
          this.#event("response.content_part.done", { ...place, content_index: 0, part: textPart(item.text) });
    return (
      ended +
      this.#event("response.output_item.done", {
        output_index: place.output_index,
        item: itemObject(item, "completed"),
      })
    );
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
      incomplete_details: this.#isIncomplete && status === "incomplete" ? { reason: "max_output_tokens" } : null,
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

function textPart(text: string): JsonObject {
  return { type: "output_text", text, annotations: [], logprobs: [] };
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
    content: status === "in_progress" ? [] : [textPart(item.text)],
  };
}
