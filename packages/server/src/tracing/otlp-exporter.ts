/** Sends spans or logs to an OpenTelemetry collector: OTLP over HTTP in JSON, with a bounded queue. https://opentelemetry.io/docs/specs/otlp/ */
import { shortText } from "../metric-sources/short-text.ts";

export interface TracingTarget {
  /** Base URL of the collector. Spans are sent to `/v1/traces` below it, logs to `/v1/logs`. */
  readonly endpoint: string;
  /** Share of workloads with spans; default 1. */
  readonly share?: number;
  /** Headers of each request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The kind of data of one exporter. */
export interface OtlpSignal<Item> {
  readonly path: "/v1/traces" | "/v1/logs";
  /** The body of a request. */
  readonly requestOf: (items: readonly Item[]) => object;
}

/** Items that wait. Beyond it the newest are dropped and counted. */
const QUEUE_MAX = 50_000;
const BATCH_MAX = 512;
const TIMEOUT_MS = 10_000;
const PAUSE_LEAST_MS = 1_000;
const PAUSE_MOST_MS = 60_000;

export class OtlpExporter<Item> {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #requestOf: OtlpSignal<Item>["requestOf"];
  readonly #queue: Item[] = [];
  readonly #closing: AbortSignal;
  #turn: Promise<void> | null = null;
  #pauseMs = 0;
  #resumeAtMs = 0;
  sentCount = 0;
  droppedCount = 0;

  /** `closing`: ends requests that are on their way. */
  constructor({ endpoint, headers = {} }: TracingTarget, { path, requestOf }: OtlpSignal<Item>, closing: AbortSignal) {
    const base = endpoint.replace(/\/+$/, "").replace(/\/v1\/traces$/, "");
    this.#url = `${base}${path}`;
    this.#headers = headers;
    this.#requestOf = requestOf;
    this.#closing = closing;
  }

  add(items: readonly Item[]): void {
    for (const item of items)
      if (this.#queue.length < QUEUE_MAX) this.#queue.push(item);
      else this.droppedCount++;
  }

  /** Sends what waits, after what is on its way. Does nothing while a pause after a failure lasts. */
  async flush(nowMs: number): Promise<void> {
    // A pause that is longer than the longest one began before the clock was set back.
    if (nowMs < this.#resumeAtMs && this.#resumeAtMs - nowMs <= PAUSE_MOST_MS) return;
    this.#turn ??= this.#sendAll(nowMs).finally(() => {
      this.#turn = null;
    });
    await this.#turn;
  }

  async #sendAll(nowMs: number): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, BATCH_MAX);
      const outcome = await this.#send(batch);
      if (outcome === "later") {
        this.#pauseMs = Math.min(PAUSE_MOST_MS, Math.max(PAUSE_LEAST_MS, this.#pauseMs * 2));
        this.#resumeAtMs = nowMs + this.#pauseMs;
        return;
      }
      this.#queue.splice(0, batch.length);
      this.#pauseMs = 0;
      if (outcome === "taken") this.sentCount += batch.length;
      else this.droppedCount += batch.length;
    }
  }

  /** `later`: the specification says to send again after 429, 502, 503, 504 and failures of the connection. */
  async #send(items: readonly Item[]): Promise<"taken" | "refused" | "later"> {
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        redirect: "error",
        headers: { "content-type": "application/json", ...this.#headers },
        body: JSON.stringify(this.#requestOf(items)),
        signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), this.#closing]),
      });
      await shortText(response, 0);
      if (response.ok) return "taken";
      return [429, 502, 503, 504].includes(response.status) ? "later" : "refused";
    } catch {
      return "later";
    }
  }
}
