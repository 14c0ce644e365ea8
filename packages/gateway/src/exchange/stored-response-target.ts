/** Answers to requests for stored responses, for clients that know the gateway's ids and OpenAI's errors. */
import { fieldAtTop } from "../json/peek.ts";
import { errorBody } from "../protocols/api-error.ts";
import type { ResponseIdTarget } from "./response-id.ts";
import type { ResponseTarget } from "./target.ts";

/** Header lines that stay in an error whose body is replaced. */
const keptLines = /^(?:x-request-id|allow|retry-after(?:-ms)?): .*\r\n/gim;

export class StoredResponseTarget implements ResponseTarget {
  readonly needsWhole = false;
  readonly keepsStream = false;
  readonly #inner: ResponseIdTarget;

  constructor(inner: ResponseIdTarget) {
    this.#inner = inner;
  }

  respond(status: number, headers: string, body: Buffer): void {
    if (status < 400 || hasError(body)) {
      const previous = fieldAtTop(body, "previous_response_id");
      if (status === 200 && previous !== undefined) this.#inner.learn(previous);
      this.#inner.respond(status, headers, body);
      return;
    }
    const message = `The model server that holds the response answered ${status}. It may not serve this method, or not have the response any more.`;
    const error = errorBody("openai", { kind: status < 500 ? "badRequest" : "upstreamFailed", message });
    const kept = headers.match(keptLines)?.join("") ?? "";
    this.#inner.respond(status, `content-type: application/json\r\n${kept}`, Buffer.from(error));
  }

  begin(status: number, headers: string, first: Buffer): boolean {
    return this.#inner.begin(status, headers, first);
  }

  write(bytes: Buffer, raw: Buffer | undefined): boolean {
    return this.#inner.write(bytes, raw);
  }

  end(): void {
    this.#inner.end();
  }

  abort(): void {
    this.#inner.abort();
  }
}

/** Whether the body is an error in OpenAI's form. */
function hasError(body: Buffer): boolean {
  try {
    const { error } = JSON.parse(body.toString("utf8")) as { readonly error?: unknown };
    return typeof error === "object" && error !== null;
  } catch {
    return false;
  }
}
