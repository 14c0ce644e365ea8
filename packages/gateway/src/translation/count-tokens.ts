/**
 * `POST /v1/messages/count_tokens`. An engine counts: by the same path, or by its own tokenizer after a translation.
 * Where none does, the gateway estimates as its limits do. A count is never billed.
 */
import type { ModelRoute } from "../exchange/model-route.ts";
import type { ResponseTarget } from "../exchange/target.ts";
import { KeySet, integerOf, scanObject } from "../json/scan.ts";
import type { Endpoint } from "../protocols/endpoints.ts";
import { chatOf, type Untranslatable } from "./translate.ts";
import { translatedError, type JsonObject } from "./translator.ts";

/** How the tokens of a request are counted. */
export type Counter =
  /** The engine serves the path itself. */
  | { readonly kind: "engine" }
  /** The engine counts this chat at `path`. */
  | { readonly kind: "tokenizer"; readonly path: string }
  | { readonly kind: "estimate" };

export function counterOf({ routes }: ModelRoute): Counter {
  if (routes.every(({ pool }) => pool.speaks("messages"))) return { kind: "engine" };
  const path = routes[0]?.pool.traits.tokenizePath;
  const isCommon = path !== undefined && routes.every(({ pool }) => pool.traits.tokenizePath === path);
  return isCommon ? { kind: "tokenizer", path } : { kind: "estimate" };
}

/** The request for an engine's tokenizer: its fields are those of a chat that is not generated. */
export function tokenizeBody(body: Buffer): Buffer | Untranslatable {
  const translated = chatOf("messages", body);
  if ("problem" in translated) return translated;
  const { model, messages, tools } = translated.chat;
  const request: JsonObject = { model, messages, tools, add_generation_prompt: true };
  return Buffer.from(JSON.stringify(request));
}

/** The body of an estimate: what the limits of a team would reserve for the prompt. */
export function estimatedCount(model: ModelRoute, body: Buffer): string {
  return JSON.stringify({ input_tokens: model.reservedPromptTokens(body.length), estimated: true });
}

const countKeys = new KeySet(["input_tokens", "count"]);
const requestIdLine = /^x-request-id: .*\r\n/im;

/** Statuses that say nothing about the request: the engine does not count, or does not work. */
function cannotCount(status: number): boolean {
  return status === 404 || status === 405 || status >= 500;
}

/** The answer to a count. An engine that does not count, or fails, is replaced by the estimate. */
export class CountTarget implements ResponseTarget {
  readonly needsWhole = true;
  readonly keepsStream = false;
  readonly #inner: ResponseTarget;
  readonly #endpoint: Endpoint;
  readonly #estimate: () => string;
  #streamHeaders = "";

  constructor(inner: ResponseTarget, endpoint: Endpoint, estimate: () => string) {
    this.#inner = inner;
    this.#endpoint = endpoint;
    this.#estimate = estimate;
  }

  respond(status: number, headers: string, body: Buffer): void {
    const count = status === 200 ? countIn(body) : undefined;
    if (count !== undefined) this.#answer(headers, JSON.stringify({ input_tokens: count }));
    else if (status === 200 || cannotCount(status)) this.#answer(headers, this.#estimate());
    else this.#inner.respond(status, headers, translatedError(this.#endpoint.dialect, status, body));
  }

  /** An event stream is no count. */
  begin(_status: number, headers: string): boolean {
    this.#streamHeaders = headers;
    return true;
  }

  write(): boolean {
    return true;
  }

  end(): void {
    this.#answer(this.#streamHeaders, this.#estimate());
  }

  abort(): void {
    this.end();
  }

  #answer(headers: string, body: string): void {
    const requestId = requestIdLine.exec(headers)?.[0] ?? "";
    this.#inner.respond(200, `content-type: application/json\r\n${requestId}`, Buffer.from(body));
  }
}

function countIn(body: Buffer): number | undefined {
  let count: number | undefined;
  const end = scanObject(body, 0, countKeys, (_, start, stop) => {
    count ??= integerOf(body, start, stop);
  });
  return end < 0 ? undefined : count;
}
