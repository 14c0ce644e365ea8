/**
 * A mock engine with continuous batching in real time: a number of slots, steps that take longer with more sequences and with
 * prompts in them, chunked prompts, a token for each sequence in each step, and requests beyond the slots in the order of their
 * arrival. The constants are about those of a 70B model on four H100. A closed connection frees its slot at the next step. A request
 * that continues an answer (`continue_final_message`) has its tokens in the prompt, which is computed again without a cache.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { monotonicMs } from "./loop-watch.ts";

export const STEP_MS = 22;
export const SEQUENCE_MS = 0.08;
export const PROMPT_TOKEN_MS = 0.12;
export const STEP_TOKENS_MAX = 2048;

/** The field `mock` of a request. */
export interface StepRequest {
  readonly team: string;
  readonly isLine: boolean;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

interface StepBody {
  readonly stream?: boolean;
  readonly mock: StepRequest;
  readonly max_tokens?: number;
  readonly continue_final_message?: boolean;
  readonly messages: readonly { readonly content: string }[];
}

const tokensBefore = ({ continue_final_message: isContinued, messages }: StepBody): number =>
  isContinued === true ? (messages.at(-1)?.content.match(/t\d+ /g) ?? []).length : 0;

interface Sequence {
  readonly mock: StepRequest;
  readonly id: string;
  /** Tokens of the answer that an earlier request generated. */
  readonly before: number;
  readonly isStream: boolean;
  readonly response: ServerResponse;
  promptLeft: number;
  sent: number;
  /** Output tokens that this request generates: fewer if it continues an answer. */
  readonly outputTokens: number;
  startedAtMs: number;
  isGone: boolean;
}

export class StepEngine {
  readonly slots: number;
  readonly #server: Server;
  readonly #waiting: Sequence[] = [];
  #running: Sequence[] = [];
  #dueMs = 0;
  #isStepping = false;
  #steppedAtMs = 0;
  /** Work of completed requests by team: prompt tokens and twice the output tokens. */
  readonly work = new Map<string, number>();
  /**
   * Time in slots, in slot-ms: of requests that are no lines, of lines that ran to their end, of lines that were stopped. The
   * tokens of a line that goes on count with it.
   */
  chatSlotMs = 0;
  lineSlotMs = 0;
  linesLost = 0;
  lostSlotMs = 0;
  /** Stopped lines: the time of each token that they had generated, by the id of the request. */
  readonly #stopped = new Map<string, { readonly tokenMs: number }[]>();

  constructor(slots: number) {
    this.slots = slots;
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  clear(): void {
    this.work.clear();
    this.chatSlotMs = this.lineSlotMs = this.linesLost = this.lostSlotMs = 0;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (request.method !== "POST") return void response.end("{}");
    const body = JSON.parse(Buffer.concat(parts).toString("utf8")) as StepBody;
    const before = tokensBefore(body);
    const sequence: Sequence = {
      mock: body.mock,
      id: String(request.headers["x-request-id"]),
      before,
      isStream: body.stream === true,
      response,
      promptLeft: body.mock.promptTokens + before,
      outputTokens: Math.min(body.mock.outputTokens, body.max_tokens ?? Infinity),
      sent: 0,
      startedAtMs: 0,
      isGone: false,
    };
    response.on("close", () => {
      sequence.isGone = !response.writableFinished;
    });
    if (sequence.isStream) response.writeHead(200, { "content-type": "text/event-stream" });
    this.#waiting.push(sequence);
    if (this.#isStepping) return;
    this.#isStepping = true;
    this.#dueMs = monotonicMs();
    this.#step();
  }

  #step(): void {
    const nowMs = monotonicMs();
    for (const { isGone, mock, startedAtMs, sent, id } of this.#running) {
      if (!isGone || !mock.isLine) continue;
      this.linesLost++;
      const lostMs = nowMs - startedAtMs;
      this.lostSlotMs += lostMs;
      const known = this.#stopped.get(id) ?? [];
      this.#stopped.set(id, [...known, ...Array.from({ length: sent }, () => ({ tokenMs: lostMs / sent }))]);
    }
    if (this.#steppedAtMs > 0) {
      const chats = this.#running.filter(({ mock }) => !mock.isLine).length;
      this.chatSlotMs += chats * (nowMs - this.#steppedAtMs);
    }
    this.#steppedAtMs = nowMs;
    this.#running = this.#running.filter(({ isGone }) => !isGone);
    while (this.#running.length < this.slots && this.#waiting.length > 0) {
      const next = this.#waiting.shift()!;
      if (next.isGone) continue;
      next.startedAtMs = nowMs;
      this.#running.push(next);
    }
    if (this.#running.length === 0) {
      this.#isStepping = false;
      this.#steppedAtMs = 0;
      return;
    }
    let budget = STEP_TOKENS_MAX - this.#running.length;
    let promptTokens = 0;
    const decoding: Sequence[] = [];
    for (const sequence of this.#running) {
      if (sequence.promptLeft === 0) decoding.push(sequence);
      else {
        const chunk = Math.min(budget, sequence.promptLeft);
        budget -= chunk;
        promptTokens += chunk;
        sequence.promptLeft -= chunk;
        if (sequence.promptLeft === 0 && chunk > 0) decoding.push(sequence);
      }
    }
    this.#dueMs = Math.max(this.#dueMs, nowMs - 20) + STEP_MS;
    this.#dueMs += SEQUENCE_MS * this.#running.length + PROMPT_TOKEN_MS * promptTokens;
    setTimeout(() => this.#end(decoding), Math.max(0, this.#dueMs - monotonicMs()));
  }

  #end(decoding: readonly Sequence[]): void {
    const nowMs = monotonicMs();
    const done = new Set<Sequence>();
    for (const sequence of decoding) {
      sequence.sent++;
      const { isStream, response, sent, mock } = sequence;
      if (isStream && !sequence.isGone)
        response.write(`data: {"id":"a","choices":[{"index":0,"delta":{"content":"t${sent} "}}]}\n\n`);
      if (sent < sequence.outputTokens || sequence.isGone) continue;
      done.add(sequence);
      this.#answer(sequence);
      const { team, promptTokens, outputTokens, isLine } = mock;
      this.work.set(team, (this.work.get(team) ?? 0) + promptTokens + 2 * outputTokens);
      if (!isLine) continue;
      const kept = (this.#stopped.get(sequence.id) ?? []).slice(0, sequence.before);
      const keptMs = kept.reduce((sum, { tokenMs }) => sum + tokenMs, 0);
      this.lineSlotMs += nowMs - sequence.startedAtMs + keptMs;
      this.lostSlotMs -= keptMs;
    }
    this.#running = this.#running.filter((sequence) => !done.has(sequence));
    this.#step();
  }

  #answer({ isStream, response, before, sent, mock: { promptTokens } }: Sequence): void {
    const usage = { prompt_tokens: promptTokens + before, completion_tokens: sent };
    if (isStream) {
      const last = { id: "a", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
      response.write(`data: ${JSON.stringify(last)}\n\n`);
      response.end(`data: ${JSON.stringify({ id: "a", choices: [], usage })}\n\ndata: [DONE]\n\n`);
    } else {
      const choices = [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }];
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "a", choices, usage }));
    }
  }
}
