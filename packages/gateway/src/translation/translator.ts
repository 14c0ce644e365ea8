/**
 * Serves requests of one protocol with engines of another. The request becomes a chat completion, and the answer is
 * translated back.
 */
import type { ResponseTarget } from "../exchange/target.ts";
import { errorBody, errorEvent, statusOf, type ApiError, type Dialect } from "../protocols/api-error.ts";
import type { Endpoint } from "../protocols/endpoints.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };
export type JsonObject = { [key: string]: Json | undefined };

/** The fields of a chat completion's chunk that translations read. */
export interface ChatChunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly ToolCallDelta[];
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: ChatUsage | null;
}

export interface ChatUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | null } | null;
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
      readonly refusal?: string | null;
      readonly tool_calls?: readonly (ToolCallDelta & { readonly id?: string })[];
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: ChatUsage;
}

/** Builds an answer in the client's protocol. */
export interface AnswerTranslation {
  /** Translates an answer that is not a stream. */
  whole(answer: ChatAnswer): JsonObject;
  /** Translates one chunk to events of the client's protocol. */
  chunk(chunk: ChatChunk): string;
  /** Returns the events that end the stream. */
  done(): string;
  /** Whether the last event of a stream repeats the whole answer, which is therefore held until then. */
  readonly keepsStream: boolean;
}

/** Whether a field of an answer has a text. Engines state an absent one as `null` or empty, or leave it out. */
export function isText(value: string | null | undefined): value is string {
  return value != null && value !== "";
}

const untranslatable: ApiError = {
  kind: "upstreamFailed",
  message: "The model server's answer is not a chat completion.",
};

/**
 * Translates an error. An upstream's error keeps its message and gets the format of the client's protocol. The gateway's
 * own errors already have that format.
 */
export function translatedError(dialect: Dialect, status: number, body: Buffer): Buffer {
  if (dialect === "openai") return body;
  let message = `The model server answered ${status}.`;
  try {
    const parsed = JSON.parse(body.toString("utf8")) as { type?: string; error?: { message?: string } };
    if (parsed.type === "error") return body;
    message = parsed.error?.message ?? message;
  } catch {
    // The body is not JSON, so the status is the only information.
  }
  const kind = status === 429 ? "rateLimited" : status < 500 ? "badRequest" : "upstreamFailed";
  return Buffer.from(errorBody(dialect, { kind, message }));
}

export class TranslatedTarget implements ResponseTarget {
  readonly #inner: ResponseTarget;
  readonly #translation: AnswerTranslation;
  readonly #endpoint: Endpoint;
  #hasFailed = false;
  #isDone = false;
  readonly needsWhole = true;
  readonly keepsStream: boolean;

  constructor(inner: ResponseTarget, translation: AnswerTranslation, endpoint: Endpoint) {
    this.#inner = inner;
    this.#translation = translation;
    this.#endpoint = endpoint;
    this.keepsStream = translation.keepsStream;
  }

  respond(status: number, headers: string, body: Buffer): void {
    if (status !== 200) {
      this.#inner.respond(status, headers, translatedError(this.#endpoint.dialect, status, body));
      return;
    }
    const whole = this.#whole(body);
    if (whole !== undefined) this.#inner.respond(status, headers, whole);
    else this.#respondUntranslatable(headers);
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

  /** The translated answer. Undefined if the body is not a chat completion. */
  #whole(body: Buffer): Buffer | undefined {
    try {
      return Buffer.from(JSON.stringify(this.#translation.whole(JSON.parse(body.toString("utf8")) as ChatAnswer)));
    } catch {
      return undefined;
    }
  }

  #respondUntranslatable(headers: string): void {
    const requestId = /^x-request-id: .*\r\n/im.exec(headers)?.[0] ?? "";
    this.#inner.respond(
      statusOf(untranslatable),
      `content-type: application/json\r\n${requestId}`,
      Buffer.from(errorBody(this.#endpoint.dialect, untranslatable)),
    );
  }

  #events(bytes: Buffer): Buffer {
    let output = "";
    if (this.#hasFailed) return Buffer.alloc(0);
    for (const event of bytes.toString("utf8").split(/\r?\n\r?\n/)) {
      if (event.startsWith("event: error")) {
        this.#hasFailed = true;
        output += `${event}\n\n`;
      } else if (event.startsWith("data:") && !this.#hasFailed) output += this.#event(event.slice(5).trim());
    }
    return Buffer.from(output);
  }

  #event(data: string): string {
    if (data !== "[DONE]") {
      try {
        return this.#translation.chunk(JSON.parse(data) as ChatChunk);
      } catch {
        this.#hasFailed = true;
        return errorEvent(this.#endpoint.dialect, this.#endpoint.operation, untranslatable);
      }
    }
    this.#isDone = true;
    return this.#translation.done();
  }
}
