/**
 * Result of reading one written value: the exact value, or a message. The message completes a sentence about the value.
 */
export type Reading<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly message: string };

export function read<Value>(value: Value): Reading<Value> {
  return { ok: true, value };
}

export function refuse(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}

const SHOWN_LENGTH_MAX = 60;

/** A value as messages quote it: on one line, shortened, without control characters. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "an empty value";
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.length === 1 ? "a list of 1 entry" : `a list of ${value.length} entries`;
  return "a mapping";
}

function quoted(text: string): string {
  const line = JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text);
  // Characters that JSON does not escape but a terminal interprets: DEL, the C1 controls, line separators and direction
  // marks.
  return line.replaceAll(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (sign) => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
