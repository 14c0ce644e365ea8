/** Requests of one protocol served by engines of another: the request becomes a chat completion, the answer is translated back. */
import type { ResponseTarget } from "../exchange/target.ts";
import { errorBody, type Dialect } from "../protocols/api-error.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };
export type JsonObject = { [key: string]: Json | undefined };

/** The fields of a chat completion's chunk that translations read. */
export interface ChatChunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly ToolCallDelta[];
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
}

export interface ToolCallDelta {
  readonly index?: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

export interface ChatAnswer {
  readonly choices?: readonly {
    readonly message?: {
      readonly content?: string | null;
      readonly tool_calls?: readonly (ToolCallDelta & { readonly id?: string })[];
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number };
}

/** An answer of the other protocol under construction. */
export interface AnswerTranslation {
  /** The whole answer. */
  whole(answer: ChatAnswer): JsonObject;
  /** Events for one chunk. */
  chunk(chunk: ChatChunk): string;
  /** Events that end the stream. */
  done(): string;
}

export class TranslatedTarget implements ResponseTarget {
  readonly #inner: ResponseTarget;
  readonly #translation: AnswerTranslation;
  readonly #dialect: Dialect;
  #hasFailed = false;
  #isDone = false;

  constructor(inner: ResponseTarget, translation: AnswerTranslation, dialect: Dialect) {
    this.#inner = inner;
    this.#translation = translation;
    this.#dialect = dialect;
  }

  respond(status: number, headers: string, body: Buffer): void {
    this.#inner.respond(status, headers, status === 200 ? this.#whole(body) : this.#error(status, body));
  }

  begin(status: number, headers: string, first: Buffer): boolean {
    return this.#inner.begin(status, headers, this.#events(first));
  }

  write(bytes: Buffer): boolean {
    const events = this.#events(bytes);
    return events.length === 0 || this.#inner.write(events, undefined);
  }

  end(): void {
    if (!this.#hasFailed && !this.#isDone) this.#inner.write(Buffer.from(this.#translation.done()), undefined);
    this.#inner.end();
  }

  abort(): void {
    this.#inner.abort();
  }

  #whole(body: Buffer): Buffer {
    return Buffer.from(JSON.stringify(this.#translation.whole(JSON.parse(body.toString("utf8")) as ChatAnswer)));
  }

  /**
   * An upstream's error keeps its message and gets the format of the client's protocol; the gateway's own errors have
   * it already.
   */
  #error(status: number, body: Buffer): Buffer {
    if (this.#dialect === "openai") return body;
    let message = `The model server answered ${status}.`;
    try {
      const parsed = JSON.parse(body.toString("utf8")) as { type?: string; error?: { message?: string } };
      if (parsed.type === "error") return body;
      message = parsed.error?.message ?? message;
    } catch {
      // Not JSON: the status is the only information.
    }
    const kind = status === 429 ? "rateLimited" : status < 500 ? "badRequest" : "upstreamFailed";
    return Buffer.from(errorBody(this.#dialect, { kind, message }));
  }

  #events(bytes: Buffer): Buffer {
    let output = "";
    for (const event of bytes.toString("utf8").split(/\r?\n\r?\n/)) {
      if (event.startsWith("event: error")) {
        this.#hasFailed = true;
        output += `${event}\n\n`;
      } else if (event.startsWith("data:")) output += this.#event(event.slice(5).trim());
    }
    return Buffer.from(output);
  }

  #event(data: string): string {
    if (data !== "[DONE]") return this.#translation.chunk(JSON.parse(data) as ChatChunk);
    this.#isDone = true;
    return this.#translation.done();
  }
}

export function objectsOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value)
    ? value.filter((each): each is JsonObject => typeof each === "object" && each !== null && !Array.isArray(each))
    : [];
}

export function textOrEmpty(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
