/**
 * Building blocks of the documents' schemas. A schema defines three things at once: how a value is read, the message
 * for an invalid value, and the JSON Schema for editors.
 */
import { z } from "zod";
import { nearestName } from "../notation/nearest.ts";
import { read, refuse, shown, type Reading } from "../notation/reading.ts";
import type { Range } from "../notation/quantities.ts";

/** JSON Schema keywords for editors; only the reader validates. */
interface DescribedHint {
  readonly description: string;
  readonly [keyword: string]: unknown;
}

/** A scalar value. `readValue` gets the value in the file; a missing value is reported as required. */
export function leaf<Value>(hint: DescribedHint, readValue: (value: unknown) => Reading<Value>) {
  return z
    .unknown()
    .meta(hint)
    .transform((value, context): Value => {
      const reading = value === undefined ? refuse("is required") : readValue(value);
      if (reading.ok) return reading.value;
      context.addIssue({ code: "custom", message: reading.message });
      return z.NEVER;
    });
}

/** An optional scalar value. `fallback` is the value if the field is left out. */
export function optionalLeaf<Value>(
  hint: DescribedHint,
  fallback: Value,
  readValue: (value: unknown) => Reading<Value>,
) {
  return z
    .unknown()
    .meta(hint)
    .optional()
    .transform((value, context): Value => {
      const reading = value === undefined ? read(fallback) : readValue(value);
      if (reading.ok) return reading.value;
      context.addIssue({ code: "custom", message: reading.message });
      return z.NEVER;
    });
}

/**
 * A mapping whose keys users choose. Every invalid entry is reported at its place. If the mapping is left out, it is
 * empty.
 */
export function entries<Value>(
  hint: DescribedHint,
  entriesMax: number,
  readEntry: (key: string, value: unknown) => Reading<Value>,
) {
  return z
    .unknown()
    .meta({ type: "object", ...hint })
    .optional()
    .transform((value, context): Record<string, Value> => {
      if (value === undefined) return {};
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        context.addIssue({ code: "custom", message: `must be a mapping, got ${shown(value)}` });
        return z.NEVER;
      }
      const written = Object.entries(value);
      if (written.length > entriesMax) {
        context.addIssue({ code: "custom", message: `must have at most ${entriesMax} entries, got ${written.length}` });
        return z.NEVER;
      }
      const found: [string, Value][] = [];
      for (const [key, each] of written) {
        const reading = readEntry(key, each);
        if (reading.ok) found.push([key, reading.value]);
        else context.addIssue({ code: "custom", path: [key], message: reading.message });
      }
      return Object.fromEntries(found);
    });
}

export function readInteger(value: unknown, range: Range): Reading<number> {
  const bounds = `must be between ${range.min} and ${range.max}`;
  if (typeof value !== "number") return refuse(`must be a whole number, got ${shown(value)}`);
  if (Number.isFinite(value) && !Number.isInteger(value)) return refuse(`must be a whole number, got ${value}`);
  return value >= range.min && value <= range.max ? read(value) : refuse(`${bounds}, got ${value}`);
}

interface TextRule {
  readonly lengthMax: number;
  /** Completes the message "must be …" for a value that is blank or not text. */
  readonly form: string;
}

/** Text that can be passed to a process: well-formed, limited in length, without NUL, and not blank. */
export function readText(value: unknown, { lengthMax, form }: TextRule): Reading<string> {
  if (typeof value !== "string" || value.trim() === "")
    return refuse(`must be ${form}, got ${shown(value)}${quoteHint(value)}`);
  if (value.length > lengthMax) return refuse(`must be at most ${lengthMax} characters, got ${value.length}`);
  if (value.includes("\0")) return refuse("must not contain a NUL character");
  return value.isWellFormed() ? read(value) : refuse("must be well-formed Unicode text");
}

function quoteHint(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? " (put it in quotes)" : "";
}

/** Reads a name that follows the same rule in the API. */
export function readName(value: unknown, rule: z.ZodType<string>): Reading<string> {
  if (typeof value !== "string") return refuse(`must be a name, got ${shown(value)}${quoteHint(value)}`);
  const outcome = rule.safeParse(value);
  if (outcome.success) return read(value);
  const [issue] = outcome.error.issues;
  if (issue?.code === "too_big") return refuse(`must be at most ${issue.maximum} characters, got ${value.length}`);
  return refuse(`${issue?.message ?? "must be a name"}, got ${shown(value)}`);
}

export function readBoolean(value: unknown): Reading<boolean> {
  return typeof value === "boolean" ? read(value) : refuse(`must be true or false, got ${shown(value)}`);
}

export function readChoice<Choice extends string>(value: unknown, choices: readonly Choice[]): Reading<Choice> {
  const found = choices.find((choice) => choice === value);
  return found === undefined ? refuse(notAChoice(value, choices)) : read(found);
}

export function notAChoice(value: unknown, choices: readonly string[]): string {
  const last = choices.at(-1) ?? "";
  const list = choices.length < 2 ? last : `${choices.slice(0, -1).join(", ")} or ${last}`;
  const nearest = typeof value === "string" ? nearestName(value, choices) : undefined;
  return `must be ${list}, got ${shown(value)}${nearest === undefined ? "" : `; did you mean ${nearest}?`}`;
}

/** Messages about fields that the schema does not have. */
export interface UnknownFieldNotes {
  /**
   * Planned fields that have no effect yet. They are refused, because a file must not promise an effect that it does
   * not have.
   */
  readonly later?: readonly string[];
  /** Names of fields in other systems, with the field of the same meaning here. */
  readonly meant?: Readonly<Record<string, string>>;
}

/**
 * A mapping with fixed fields. Zod reports all unknown fields in one issue, so its message has one line for each field.
 */
export function fields<Shape extends z.ZodRawShape>(shape: Shape, notes: UnknownFieldNotes = {}) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys")
        return `must be a mapping with the fields ${known.join(", ")}, got ${shown(issue.input)}`;
      return issue.keys.map((key) => unknownField(key, known, notes)).join("\n");
    },
  });
}

function unknownField(key: string, known: readonly string[], { later = [], meant = {} }: UnknownFieldNotes): string {
  if (later.includes(key)) return "is not supported yet";
  const alias = Object.hasOwn(meant, key) ? meant[key] : undefined;
  const suggestion = alias ?? nearestName(key, known);
  if (suggestion !== undefined) return `unknown field; did you mean ${suggestion}?`;
  return `unknown field; the fields here are ${known.join(", ")}`;
}
