/**
 * An engine for the SDK tests: chat completions, completions and embeddings in OpenAI's protocol, messages in
 * Anthropic's, with tools and structured output. Words in the last user message select its behaviour: `[slow]` sends an
 * event every 20 ms, `[break]` breaks the connection after three tokens, `[status N]` answers with that status, `[flaky
 * N]` answers 503 to the first N requests with this conversation.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

interface Body {
  readonly model: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages?: readonly Message[];
  readonly prompt?: string;
  readonly tools?: readonly unknown[];
  readonly response_format?: { readonly type: string };
  readonly input?: string | readonly string[];
  readonly encoding_format?: string;
}

type Step = { readonly text: string } | { readonly toolArguments: string };

const words = ["Hello ", "from ", "the ", "engine, ", "wörld ", "✓"];
export const greeting = words.join("");
const person = '{"name":"Ada","age":36}';
const usage = { prompt_tokens: 7, completion_tokens: 6, total_tokens: 13 };

export class ScriptedEngine {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #failures = new Map<string, number>();
  /** Whether the engine serves only chat completions. */
  readonly #isChatOnly: boolean;
  requestCount = 0;
  cancelledCount = 0;
  lastBody: Body | undefined;
  lastHeaders: IncomingMessage["headers"] = {};

  constructor(isChatOnly: boolean) {
    this.#isChatOnly = isChatOnly;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => undefined);
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (request.method === "GET") {
      response.end();
      return;
    }
    this.requestCount += 1;
    response.on("close", () => {
      if (!response.writableFinished) this.cancelledCount += 1;
    });
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Body;
    this.lastBody = body;
    this.lastHeaders = request.headers;
    const script = scriptOf(body);
    const status = this.#statusOf(script);
    if (status !== 200) return error(response, status, path);
    if (this.#isChatOnly && path !== "/v1/chat/completions") return error(response, 404, path);
    if (path === "/v1/embeddings") return embeddings(response, body);
    if (path === "/v1/messages") return await messages(response, body, script);
    if (path === "/v1/completions") return json(response, completion(body));
    return await (body.stream === true ? streamChat(response, body, script) : answerChat(response, body, script));
  }

  #statusOf(script: string): number {
    const fixed = /\[status (\d+)\]/.exec(script)?.[1];
    if (fixed !== undefined) return Number(fixed);
    const flaky = /\[flaky (\d+)\]/.exec(script)?.[1];
    if (flaky === undefined) return 200;
    const failed = this.#failures.get(script) ?? 0;
    this.#failures.set(script, failed + 1);
    return failed < Number(flaky) ? 503 : 200;
  }
}

/** Text of the last user message. */
function scriptOf(body: Body): string {
  const content = (body.messages ?? []).findLast(({ role }) => role === "user")?.content;
  if (typeof content === "string") return content;
  return Array.isArray(content) ? JSON.stringify(content) : (body.prompt ?? "");
}

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function error(response: ServerResponse, status: number, path: string): void {
  const inner = { message: `scripted ${status}`, type: "invalid_request_error", param: "messages", code: "scripted" };
  const body = path === "/v1/messages" ? { type: "error", error: inner } : { error: inner };
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function completion(body: Body): object {
  const choices = [{ index: 0, text: greeting, finish_reason: "stop", logprobs: null }];
  return { id: "cmpl-1", object: "text_completion", created: 1, model: body.model, choices, usage };
}

/** Embeddings: vectors of two numbers, the text's length and 0.5. */
function embeddings(response: ServerResponse, body: Body): void {
  const texts = typeof body.input === "string" ? [body.input] : (body.input ?? []);
  const data = texts.map((text, index) => {
    const vector = Float32Array.of(text.length, 0.5);
    const embedding = body.encoding_format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector];
    return { object: "embedding", index, embedding };
  });
  json(response, { object: "list", model: body.model, data, usage: { prompt_tokens: 4, total_tokens: 4 } });
}

/** Whether to call a tool: not if the conversation already has the tool's result. */
function callsTool(body: Body): boolean {
  const last = body.messages?.at(-1);
  const hasResult = last?.role === "tool" || JSON.stringify(last?.content ?? "").includes("tool_result");
  return (body.tools?.length ?? 0) > 0 && !hasResult;
}

function steps(body: Body): readonly Step[] {
  if (callsTool(body)) return ['{"ci', 'ty":"Pa', 'ris"}'].map((toolArguments) => ({ toolArguments }));
  if (body.response_format?.type === "json_schema") return [{ text: person.slice(0, 9) }, { text: person.slice(9) }];
  return words.map((text) => ({ text }));
}

function answerChat(response: ServerResponse, body: Body, script: string): Promise<void> | void {
  if (script.includes("[slow]")) return sleep(2000).then(() => finishChat(response, body));
  finishChat(response, body);
}

function finishChat(response: ServerResponse, body: Body): void {
  if (response.destroyed) return;
  const all = steps(body);
  const isCall = callsTool(body);
  const text = all.map((step) => ("text" in step ? step.text : "")).join("");
  const call = {
    id: "call_1",
    type: "function",
    function: {
      name: "get_weather",
      arguments: all.map((step) => ("text" in step ? "" : step.toolArguments)).join(""),
    },
  };
  const message = isCall
    ? { role: "assistant", content: null, tool_calls: [call] }
    : { role: "assistant", content: text, refusal: null };
  const choices = [{ index: 0, message, finish_reason: isCall ? "tool_calls" : "stop", logprobs: null }];
  json(response, { id: "chatcmpl-1", object: "chat.completion", created: 1, model: body.model, choices, usage });
}

async function streamChat(response: ServerResponse, body: Body, script: string): Promise<void> {
  const send = (rest: object): boolean =>
    response.write(
      `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: body.model, ...rest })}\n\n`,
    );
  const choice = (delta: object, finish: string | null = null): object => ({
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
  });
  response.writeHead(200, { "content-type": "text/event-stream" });
  const isCall = callsTool(body);
  send(choice({ role: "assistant", content: isCall ? null : "" }));
  if (isCall) {
    const start = { index: 0, id: "call_1", type: "function", function: { name: "get_weather", arguments: "" } };
    send(choice({ tool_calls: [start] }));
  }
  const all = script.includes("[slow]") ? Array.from({ length: 200 }, () => ({ text: "word " })) : steps(body);
  for (const [index, step] of all.entries()) {
    if (script.includes("[slow]")) await sleep(20);
    if (response.destroyed) return;
    if (script.includes("[break]") && index === 3) {
      await sleep(20);
      response.destroy();
      return;
    }
    if ("text" in step) send(choice({ content: step.text }));
    else send(choice({ tool_calls: [{ index: 0, function: { arguments: step.toolArguments } }] }));
  }
  send(choice({}, isCall ? "tool_calls" : "stop"));
  if (body.stream_options?.include_usage === true) send({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

async function messages(response: ServerResponse, body: Body, script: string): Promise<void> {
  const isCall = callsTool(body);
  const block = isCall
    ? { type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Paris" } }
    : { type: "text", text: greeting };
  const shell = { id: "msg_1", type: "message", role: "assistant", model: body.model, stop_sequence: null };
  const stop_reason = isCall ? "tool_use" : "end_turn";
  if (body.stream !== true) {
    if (script.includes("[slow]")) await sleep(2000);
    if (response.destroyed) return;
    json(response, { ...shell, content: [block], stop_reason, usage: { input_tokens: 7, output_tokens: 6 } });
    return;
  }
  const send = (type: string, rest: object): boolean =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const message = { ...shell, content: [], stop_reason: null, usage: { input_tokens: 7, output_tokens: 1 } };
  send("message_start", { message });
  const empty = isCall ? { ...block, input: {} } : { type: "text", text: "" };
  send("content_block_start", { index: 0, content_block: empty });
  const all = script.includes("[slow]") ? Array.from({ length: 200 }, () => ({ text: "word " })) : steps(body);
  for (const [index, step] of all.entries()) {
    if (script.includes("[slow]")) await sleep(20);
    if (response.destroyed) return;
    if (script.includes("[break]") && index === 3) {
      await sleep(20);
      response.destroy();
      return;
    }
    const delta =
      "text" in step
        ? { type: "text_delta", text: step.text }
        : { type: "input_json_delta", partial_json: step.toolArguments };
    send("content_block_delta", { index: 0, delta });
  }
  send("content_block_stop", { index: 0 });
  send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 6 } });
  send("message_stop", {});
  response.end();
}
