/** Texts of validation errors that have no message in the schema. Each text completes a sentence about the field. */

/** The fields of Zod's issues that the texts need. */
interface Issue {
  readonly code?: string | undefined;
  readonly input?: unknown;
  readonly expected?: unknown;
  readonly values?: readonly unknown[];
  readonly origin?: string;
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
}

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

/** An error map for Zod. `undefined`: Zod's own text is used. */
export function issueText(issue: Issue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is missing";
      return `must be ${nouns[String(issue.expected)] ?? String(issue.expected)}, not ${nouns[kindOf(issue.input)]}`;
    case "invalid_value":
      return choiceText(issue.values ?? []);
    case "too_small":
      return boundText(issue.origin, "at least", issue.minimum ?? 0);
    case "too_big":
      return boundText(issue.origin, "at most", issue.maximum ?? 0);
    default:
      return undefined;
  }
}

function choiceText(values: readonly unknown[]): string {
  return `must be ${values.length === 1 ? "" : "one of "}${values.map(String).join(", ")}`;
}

function boundText(origin: string | undefined, atLeastOrMost: string, bound: number | bigint): string {
  if (origin === "number" || origin === "int") return `must be ${atLeastOrMost} ${bound}`;
  const [one, many] = origin === "string" ? ["character", "characters"] : ["entry", "entries"];
  return `must have ${atLeastOrMost} ${bound} ${bound === 1 ? one : many}`;
}

const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
