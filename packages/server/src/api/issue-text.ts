/** Texts of validation errors that complete a sentence about the field, where the schema has no message. */
import type { z } from "zod";

const nouns: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  nan: "a number",
  null: "null",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "text",
};

/** An error map of Zod; `undefined`: Zod's own text. */
export function issueText(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is missing";
      return `must be ${nouns[issue.expected] ?? issue.expected}, not ${nouns[kindOf(issue.input)]}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map(String).join(", ")}`;
    case "too_small":
      return boundText(issue.origin, "at least", issue.minimum);
    case "too_big":
      return boundText(issue.origin, "at most", issue.maximum);
    default:
      return undefined;
  }
}

function boundText(origin: string, atLeastOrMost: string, bound: number | bigint): string {
  if (origin === "number" || origin === "int") return `must be ${atLeastOrMost} ${bound}`;
  const [one, many] = origin === "string" ? ["character", "characters"] : ["entry", "entries"];
  return `must have ${atLeastOrMost} ${bound} ${bound === 1 ? one : many}`;
}

const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
