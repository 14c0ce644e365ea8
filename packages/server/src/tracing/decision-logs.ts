/** Log records of decisions, attempts and nodes, from the events of the journal. https://opentelemetry.io/docs/specs/otel/logs/data-model/ */
import type { Event, NodeFault } from "@headroom/model";
import { eventTitle } from "@headroom/views";

/** A log record without its form in the protocol of the exporter. */
export interface DecisionLog {
  /** The trace of its workload; `null`: the event is about no workload, or its workload has no trace. */
  readonly traceId: string | null;
  readonly atMs: number;
  readonly severity: "INFO" | "WARN";
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** Fields of events that become attributes, if they are texts or numbers. */
const FIELDS = [
  "workloadId",
  "attemptId",
  "nodeId",
  "executor",
  "pool",
  "team",
  "actor",
  "number",
  "outcome",
  "phase",
  "detail",
];
const TEXT_MAX = 1_000;
const warnings: ReadonlySet<string> = new Set<Event["kind"]>(["nodeLost", "executorLost", "faultsReported"]);

/** `null`: the event is bookkeeping. */
export function logOfEvent(sequence: number, event: Event, traceId: string | null): DecisionLog | null {
  const { title, subject } = eventTitle(event.kind);
  if (subject === "Bookkeeping") return null;
  const attributes: Record<string, string | number> = { "headroom.event": event.kind, "headroom.sequence": sequence };
  const fields: Readonly<Record<string, unknown>> = { ...event };
  for (const name of FIELDS) {
    const value = fields[name];
    if (typeof value === "string") attributes[`headroom.${name}`] = value.slice(0, TEXT_MAX);
    else if (Number.isSafeInteger(value)) attributes[`headroom.${name}`] = value as number;
  }
  if (event.kind === "faultsReported") attributes["headroom.faults"] = faultTexts(event.faults).slice(0, TEXT_MAX);
  // A stopped attempt was preempted, cancelled or scaled down.
  const hasFailed = event.kind === "attemptEnded" && (event.outcome === "failed" || event.outcome === "lost");
  const isWarning = hasFailed || warnings.has(event.kind);
  return { traceId, atMs: event.atMs, severity: isWarning ? "WARN" : "INFO", body: `${subject}: ${title}`, attributes };
}

const faultTexts = (faults: readonly NodeFault[]): string =>
  faults
    .map(({ severity, code, device }) => `${severity} ${code}${device === undefined ? "" : ` ${device}`}`)
    .join(", ");
