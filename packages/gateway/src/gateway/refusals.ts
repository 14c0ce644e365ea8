/**
 * Records requests that the gateway refuses before they become exchanges: a line of the access log, a span and a count
 * for each, so that an operator finds the reason of every answer.
 */
import type { Caller } from "../access/teams.ts";
import type { ExchangeSummary, LoggedRequest } from "../exchange/runtime.ts";
import type { RequestHead } from "../http/request-head.ts";
import { statusOf, type ApiError } from "../protocols/api-error.ts";
import type { Operation } from "../protocols/endpoints.ts";
import type { AccessLog } from "../telemetry/access-log.ts";
import type { GatewayMetrics } from "../telemetry/metrics.ts";
import { validTraceparent } from "../telemetry/trace-context.ts";
import type { RequestRing } from "../telemetry/request-ring.ts";
import type { Tracer } from "../telemetry/tracer.ts";

export interface RefusalSinks {
  readonly metrics: GatewayMetrics;
  readonly ring: RequestRing;
  readonly accessLog: AccessLog | undefined;
  readonly tracer: Tracer | undefined;
}

export interface RefusedRequest {
  readonly id: string;
  readonly atMs: number;
  readonly path: string;
  /** Undefined if the head could not be read. */
  readonly head: RequestHead | undefined;
  readonly caller: Caller | undefined;
  readonly operation: Operation | undefined;
  /** The model's name as the client wrote it. Empty if it is not known. */
  readonly model: string;
  readonly bodyBytes: number;
}

/** Maximum number of characters of a text from the client in a log line or a span. */
const TEXT_MAX = 256;
const noBytes = Buffer.alloc(0);

/** `reason` is the label of the count. It must not come from the client. */
export function recordRefusal(sinks: RefusalSinks, refused: RefusedRequest, error: ApiError, reason: string): void {
  sinks.metrics.refused(reason);
  const summary = summaryOf(refused, error);
  sinks.ring.add(summary, refused.caller === undefined);
  if (sinks.accessLog === undefined && sinks.tracer === undefined) return;
  const { head, path } = refused;
  const parent = validTraceparent(head?.traceparent ?? "");
  const request: LoggedRequest = {
    head: { requestId: head?.requestId ?? "", traceparent: parent },
    traceparent: sinks.tracer?.childOf(parent) ?? parent,
    method: head?.method.slice(0, TEXT_MAX) ?? "",
    path: path.slice(0, TEXT_MAX),
    body: noBytes,
    bodyBytes: refused.bodyBytes,
  };
  sinks.accessLog?.write(request, summary);
  sinks.tracer?.ended(request, summary);
}

function summaryOf({ id, atMs, caller, operation, model }: RefusedRequest, refusal: ApiError): ExchangeSummary {
  return {
    record: {
      id,
      atMs: Math.round(atMs),
      team: caller?.team ?? "",
      key: caller?.key ?? "",
      model: model.slice(0, TEXT_MAX),
      pool: "",
      operation: operation ?? "",
      outcome: "failed",
      status: statusOf(refusal),
      promptTokens: 0,
      completionTokens: 0,
      cachedTokens: 0,
      isPromptEstimated: false,
      nanoUsd: 0,
    },
    startedAtMs: atMs,
    firstByteAtMs: 0,
    endedAtMs: atMs,
    replicaId: "",
    decision: undefined,
    attempts: [],
    reserved: [],
    refusal,
    isStream: false,
    urgency: undefined,
  };
}
