/** Requests of OTLP in JSON. https://github.com/open-telemetry/opentelemetry-proto */
import { hostname } from "node:os";
import type { DecisionLog } from "./decision-logs.ts";
import type { DecisionSpan } from "./decision-spans.ts";

const attributesOf = (attributes: Readonly<Record<string, string | number>>): readonly object[] =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
  }));

const resource = { attributes: attributesOf({ "service.name": "headroom", "service.instance.id": hostname() }) };
const scope = { name: "headroom.decisions" };

export const tracesRequest = (spans: readonly DecisionSpan[]): object => ({
  resourceSpans: [{ resource, scopeSpans: [{ scope, spans: spans.map(spanOf) }] }],
});

export const logsRequest = (logs: readonly DecisionLog[]): object => ({
  resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: logs.map(logOf) }] }],
});

const spanOf = ({ traceId, spanId, parentId, name, fromMs, toMs, attributes, failure }: DecisionSpan): object => ({
  traceId,
  spanId,
  parentSpanId: parentId,
  name,
  // The value of SPAN_KIND_INTERNAL in the OpenTelemetry protocol.
  kind: 1,
  startTimeUnixNano: `${fromMs}000000`,
  endTimeUnixNano: `${Math.max(fromMs, toMs)}000000`,
  attributes: attributesOf(attributes),
  // The values of STATUS_CODE_OK and STATUS_CODE_ERROR.
  status: failure === null ? { code: 1 } : { code: 2, message: failure },
});

const logOf = ({ traceId, atMs, severity, body, attributes }: DecisionLog): object => ({
  timeUnixNano: `${atMs}000000`,
  observedTimeUnixNano: `${atMs}000000`,
  // The values of SEVERITY_NUMBER_INFO and SEVERITY_NUMBER_WARN.
  severityNumber: severity === "WARN" ? 13 : 9,
  severityText: severity,
  body: { stringValue: body },
  attributes: attributesOf(attributes),
  ...(traceId === null ? {} : { traceId }),
});
