/** Finds the fault in a line of a log, in any of the usual wrappings: syslog, journal, dmesg, container and JSON logs. */
import type { Fault } from "./fault.ts";
import { gpuRules } from "./gpu-rules.ts";
import { controllerRules, hostRules } from "./host-rules.ts";

// The event log of a node's controller has `|` between its columns, and names memory like GPUs do.
const rules = [...controllerRules, ...gpuRules, ...hostRules];

/** Messages beyond this length have no fault after it. */
const MESSAGE_MAX = 4_000;

/** Null: the line is no fault. */
export function readFault(line: string): Fault | null {
  const message = messageOf(line.slice(0, MESSAGE_MAX));
  const lower = message.toLowerCase();
  for (const { hint, pattern, fault } of rules) {
    if (!lower.includes(hint)) continue;
    const match = pattern.exec(message);
    const found = match === null ? null : fault(match.groups ?? {}, message);
    if (found !== null) return found;
  }
  return null;
}

/** Fields in which journald, Docker, Kubernetes and agents have the message. */
const messageFields = ["MESSAGE", "message", "msg", "log", "MSG", "text"];

function messageOf(line: string): string {
  const start = line.indexOf("{");
  if (start < 0 || start > 200) return line;
  let value: unknown;
  try {
    value = JSON.parse(line.slice(start));
  } catch {
    return line;
  }
  if (typeof value !== "object" || value === null) return line;
  for (const field of messageFields) {
    if (!Object.hasOwn(value, field)) continue;
    const message = (value as Readonly<Record<string, unknown>>)[field];
    if (typeof message === "string") return message;
  }
  return line;
}
