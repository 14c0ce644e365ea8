/** Sends spans to an OpenTelemetry collector (OTLP over HTTP in JSON). Reads and writes W3C trace context. */
import { randomBytes } from "node:crypto";
import type { ExchangeSummary, LoggedRequest } from "../exchange/runtime.ts";
import { traceParentIn } from "./trace-context.ts";

export interface TracerOptions {
  /** Base URL of the collector. Spans are sent to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly share: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly gatewayId: string;
}

/** Maximum number of spans that wait for the collector. At the maximum, spans are counted and dropped. */
const QUEUE_MAX = 10_000;
const BATCH_MAX = 512;
const EXPORT_EVERY_MS = 1000;
const EXPORT_TIMEOUT_MS = 5000;

export class Tracer {
  readonly #options: TracerOptions;
  readonly #url: string;
  #queue: object[] = [];
  #isExporting = false;
  readonly #timer: NodeJS.Timeout;
  droppedCount = 0;

  constructor(options: TracerOptions) {
    this.#options = options;
    const base = options.endpoint.replace(/\/+$/, "");
    this.#url = base.endsWith("/v1/traces") ? base : `${base}/v1/traces`;
    this.#timer = setInterval(() => void this.flush(), EXPORT_EVERY_MS);
    this.#timer.unref();
  }

  /** The trace context for the upstream: the caller's trace with a span of the gateway, or a new trace. */
  childOf(traceparent: string): string {
    const parent = traceParentIn(traceparent);
    const ids = randomBytes(24);
    const span = ids.toString("hex", 0, 8);
    if (parent !== undefined) return `00-${parent.traceId}-${span}-${parent.flags}`;
    const isSampled = ids.readUInt32LE(20) / 2 ** 32 < this.#options.share;
    return `00-${ids.toString("hex", 4, 20)}-${span}-${isSampled ? "01" : "00"}`;
  }

  ended(request: LoggedRequest, summary: ExchangeSummary): void {
    const own = traceParentIn(request.traceparent);
    if (own === undefined || (Number.parseInt(own.flags, 16) & 1) === 0) return;
    if (this.#queue.length >= QUEUE_MAX) {
      this.droppedCount++;
      return;
    }
    this.#queue.push(spanOf(request, summary, { traceId: own.traceId, spanId: own.parentId }));
  }

  /** Sends the waiting spans. If sending fails, they are dropped, because the next spans are already waiting. */
  async flush(): Promise<void> {
    if (this.#isExporting) return;
    this.#isExporting = true;
    try {
      while (this.#queue.length > 0) {
        const spans = this.#queue.splice(0, BATCH_MAX);
        if (!(await this.#export(spans))) this.droppedCount += spans.length;
      }
    } finally {
      this.#isExporting = false;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  async #export(spans: readonly object[]): Promise<boolean> {
    const { headers, gatewayId } = this.#options;
    const body = {
      resourceSpans: [
        {
          resource: { attributes: [text("service.name", "headroom-gateway"), text("service.instance.id", gatewayId)] },
          scopeSpans: [{ scope: { name: "headroom.gateway" }, spans }],
        },
      ],
    };
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(EXPORT_TIMEOUT_MS),
      });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      return false;
    }
  }
}

function spanOf(request: LoggedRequest, summary: ExchangeSummary, ids: { traceId: string; spanId: string }): object {
  const { record, startedAtMs, firstByteAtMs, endedAtMs, replicaId } = summary;
  const parent = traceParentIn(request.head.traceparent);
  return {
    traceId: ids.traceId,
    spanId: ids.spanId,
    parentSpanId: parent?.parentId ?? "",
    name: spanName(record),
    // The value of SPAN_KIND_SERVER in the OpenTelemetry protocol.
    kind: 2,
    startTimeUnixNano: nanoseconds(startedAtMs),
    endTimeUnixNano: nanoseconds(endedAtMs),
    attributes: [
      text("gen_ai.operation.name", record.operation),
      text("gen_ai.request.model", record.model),
      text("gen_ai.provider.name", record.pool),
      text("headroom.request.id", record.id),
      text("headroom.team", record.team),
      text("headroom.replica", replicaId),
      text("headroom.outcome", record.outcome),
      integer("http.response.status_code", record.status),
      integer("gen_ai.usage.input_tokens", record.promptTokens),
      integer("gen_ai.usage.output_tokens", record.completionTokens),
    ],
    events: firstByteAtMs === 0 ? [] : [{ name: "first byte", timeUnixNano: nanoseconds(firstByteAtMs) }],
    // The values of STATUS_CODE_OK and STATUS_CODE_ERROR.
    status: { code: record.outcome === "completed" ? 1 : 2 },
  };
}

/** A name without a model states that the request was refused before its model was known. */
function spanName({ operation, model }: ExchangeSummary["record"]): string {
  return operation === "" ? "refused" : model === "" ? operation : `${operation} ${model}`;
}

function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}

function text(key: string, value: string): object {
  return { key, value: { stringValue: value } };
}

function integer(key: string, value: number): object {
  return { key, value: { intValue: String(value) } };
}
