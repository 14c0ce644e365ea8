/**
 * A model server for tests. It speaks OpenAI's protocol, streams deterministic tokens, and misbehaves if the prompt
 * says so (`x-mock`). The n-th token of an answer is `t<n> `, so that a continued answer can be compared token for
 * token.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface MockOptions {
  /** Time between events in milliseconds. */
  readonly everyMs?: number;
  readonly tokens?: number;
  /** Breaks the connection once, after this number of tokens of a stream. */
  readonly breakAfter?: number;
  /** Ends a stream once after this number of tokens, as if it were whole. */
  readonly endAfter?: number;
  /** States an error once after this number of tokens of a stream, and then its end. */
  readonly errorAfter?: number;
  /** Whether the tokens of a chat's stream are reasoning (`reasoning_content`). */
  readonly isReasoning?: boolean;
  readonly status?: number;
  /** Status for requests that continue an answer. */
  readonly continuationStatus?: number;
  /** Time before the answer begins, in milliseconds. */
  readonly delayMs?: number;
}

interface ChatBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly max_tokens?: number;
  readonly messages?: readonly { readonly role: string; readonly content: string }[];
  readonly prompt?: string;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly continue_final_message?: boolean;
}

export class MockUpstream {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  options: MockOptions;
  requestCount = 0;
  /** Connections on which requests came. */
  readonly requestSockets: Set<Socket> = new Set();
  /** Requests whose connection closed before the answer was complete. */
  cancelledCount = 0;
  sentTokens = 0;
  lastBody: ChatBody | undefined;
  lastHeaders: IncomingMessage["headers"] = {};
  isHealthy = true;
  /** Closes a kept-alive connection once when the next request comes on it, as a server does whose time for it has passed. */
  breaksKept = false;
  onCancelled: () => void = () => undefined;

  constructor(options: MockOptions = {}) {
    this.options = options;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => undefined);
    });
  }

  async start(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", 4096, resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends immediately, like a killed process. */
  async kill(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (path === "/health") {
      response.writeHead(this.isHealthy ? 200 : 503).end();
      return;
    }
    if (path === "/metrics") {
      response.end(
        'vllm:num_requests_waiting{model_name="m"} 3\nvllm:num_requests_running 2\nvllm:kv_cache_usage_perc 0.25\n',
      );
      return;
    }
    if (this.breaksKept && this.requestSockets.has(request.socket)) {
      this.breaksKept = false;
      request.socket.destroy();
      return;
    }
    this.requestCount++;
    this.requestSockets.add(request.socket);
    let isComplete = false;
    response.on("close", () => {
      if (isComplete) return;
      this.cancelledCount++;
      this.onCancelled();
    });
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    this.lastHeaders = request.headers;
    const { delayMs, continuationStatus } = this.options;
    const isContinued =
      continuationStatus !== undefined && Buffer.concat(chunks).includes('"continue_final_message":true');
    const status = isContinued ? continuationStatus : this.options.status;
    if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs));
    if (response.destroyed) return;
    if (status !== undefined) {
      isComplete = true;
      response
        .writeHead(status, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message: "mock", type: "mock" } }));
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as ChatBody;
    this.lastBody = body;
    if (body.stream === true) await this.#stream(path, body, response);
    else this.#answer(path, body, response);
    isComplete = response.writableFinished || response.writableEnded;
  }

  #answer(path: string, body: ChatBody, response: ServerResponse): void {
    const count = Math.min(body.max_tokens ?? 1e9, this.options.tokens ?? 5);
    const text = Array.from({ length: count }, (_, at) => token(at)).join("");
    const usage = {
      prompt_tokens: promptTokens(body),
      completion_tokens: count,
      total_tokens: promptTokens(body) + count,
    };
    const choice = path.includes("chat")
      ? { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }
      : { index: 0, text, finish_reason: "stop" };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        id: "mock-1",
        object: "chat.completion",
        created: 1,
        model: body.model,
        choices: [choice],
        usage,
      }),
    );
    this.sentTokens += count;
  }

  async #stream(path: string, body: ChatBody, response: ServerResponse): Promise<void> {
    const isChat = path.includes("chat");
    const first = tokensBefore(body);
    const total = first + Math.min(body.max_tokens ?? 1e9, (this.options.tokens ?? 5) - first);
    const id = `mock-${this.requestCount}`;
    const send = (chunk: object): boolean =>
      response.write(
        `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: this.requestCount, model: body.model, ...chunk })}\n\n`,
      );
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (isChat) send({ choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] });
    for (let at = first; at < total; at++) {
      const { everyMs, breakAfter, endAfter, errorAfter, isReasoning = false } = this.options;
      if (everyMs !== undefined) await new Promise((resolve) => setTimeout(resolve, everyMs));
      if (response.destroyed) return;
      if (breakAfter !== undefined && at - first >= breakAfter) {
        const { breakAfter: _, ...rest } = this.options;
        this.options = rest;
        // Waits, so that the written bytes reach the gateway before the connection breaks.
        await new Promise((resolve) => setTimeout(resolve, 20));
        response.destroy();
        return;
      }
      if (endAfter !== undefined && at - first >= endAfter) {
        const { endAfter: _, ...rest } = this.options;
        this.options = rest;
        response.end();
        return;
      }
      if (errorAfter !== undefined && at - first >= errorAfter) {
        const { errorAfter: _, ...rest } = this.options;
        this.options = rest;
        response.end('data: {"error":{"message":"mock"}}\n\ndata: [DONE]\n\n');
        return;
      }
      const delta = isReasoning ? { reasoning_content: token(at) } : { content: token(at) };
      send({
        choices: [
          isChat ? { index: 0, delta, finish_reason: null } : { index: 0, text: token(at), finish_reason: null },
        ],
      });
      this.sentTokens++;
    }
    send({
      choices: [
        isChat ? { index: 0, delta: {}, finish_reason: "stop" } : { index: 0, text: "", finish_reason: "stop" },
      ],
    });
    if (body.stream_options?.include_usage === true) {
      send({
        choices: [],
        usage: { prompt_tokens: promptTokens(body), completion_tokens: total - first, total_tokens: 0 },
      });
    }
    response.end("data: [DONE]\n\n");
  }
}

function token(at: number): string {
  return `t${at} `;
}

/** Number of tokens of the prompt. Each word is one token. */
function promptTokens(body: ChatBody): number {
  const text = body.prompt ?? (body.messages ?? []).map(({ content }) => content).join(" ");
  return text.split(" ").filter((word) => word !== "").length;
}

/** Number of tokens at the end of the request that are already the beginning of the answer. */
function tokensBefore(body: ChatBody): number {
  const last = body.continue_final_message === true ? body.messages?.at(-1)?.content : body.prompt;
  return (last?.match(/t\d+ /g) ?? []).length;
}
