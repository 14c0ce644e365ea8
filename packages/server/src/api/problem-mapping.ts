/**
 * Converts any error to a problem: rejections keep their problem, operational errors get one by their code, everything
 * else is a bug.
 */
import { issueText } from "@headroom/platform";
import { problemOf, ProblemError, refuse } from "@headroom/protocol";
import type { Problem, ProblemCode, ProblemPlace } from "@headroom/protocol";
import type { FastifyError } from "fastify";
import type { z } from "zod";

/** Maximum number of faulty places that the answer to one request lists. */
const PLACES_MAX = 50;

/**
 * Problem codes for `OperationalError` codes that clients can tell apart. The driver and the executors use these codes.
 */
const operationalCodes: Readonly<Record<string, ProblemCode>> = {
  overloaded: "overloaded",
  closing: "closing",
  unknownAttempt: "unknownAttempt",
  cannotExec: "cannotExec",
};

/** Problems of Fastify's own refusals: https://fastify.dev/docs/latest/Reference/Errors/. */
const frameworkProblems: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ["bodyTooLarge", "The body may have at most 1 MiB. Split it over several requests."],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["unsupportedMediaType", "Send JSON, with Content-Type: application/json."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["invalidRequest", "The body is not as long as Content-Length says."],
  FST_ERR_BAD_URL: ["invalidRequest", "The address is not a valid URL: its percent-encoding is invalid."],
  FST_ERR_MAX_PARAM_LENGTH: ["notFound", "The address is too long."],
};

export interface MappedProblem {
  readonly problem: Problem;
  /** True: a bug, which is logged with its stack. */
  readonly isBug: boolean;
}

export function mapProblem(error: unknown): MappedProblem {
  if (error instanceof ProblemError) return { problem: error.problem, isBug: false };
  const { name, code, message } = error as { name?: string; code?: string; message?: string };
  if (name === "OperationalError" && code !== undefined) {
    const known = operationalCodes[code] ?? (/^journal[A-Z]/.test(code) ? "journalFailed" : "unavailable");
    return { problem: problemOf(known, message ?? ""), isBug: false };
  }
  const framework = frameworkProblem(error);
  if (framework !== null) return { problem: framework, isBug: false };
  const detail = "This is a bug in Headroom. The control plane's log has the details; the request changed nothing.";
  return { problem: problemOf("internal", detail), isBug: true };
}

/**
 * The problem of an error of the framework. Any other client error that the framework reports is not a bug of this
 * program.
 */
function frameworkProblem(error: unknown): Problem | null {
  const { code = "", statusCode = 500, message = "" } = error as Partial<FastifyError>;
  const known = frameworkProblems[code];
  if (known !== undefined) return problemOf(...known);
  // Node's own error for a request body that was cut off: https://nodejs.org/api/http.html#event-aborted
  if (code === "ECONNRESET" && message === "aborted")
    return problemOf("invalidRequest", "The connection closed before the whole request had arrived.");
  if (!code.startsWith("FST_") || statusCode < 400 || statusCode >= 500) return null;
  return problemOf("invalidRequest", `The request cannot be read: ${message}`);
}

/**
 * Parses a value with a schema. If it is invalid, the error names the faulty places by JSON pointers that start with
 * `root`. `above`: the place of the value in the body.
 */
export function parsed<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  root: "" | "?",
  above: readonly PropertyKey[] = [],
): z.output<Schema> {
  if (root === "?") refuseRepeated(value);
  const result = schema.safeParse(value, { error: issueText });
  if (result.success) return result.data;
  throw invalid(result.error, root, above);
}

/** Refuses repeated query parameters, which the parser turns into lists: no parameter takes a list. */
function refuseRepeated(parameters: unknown): void {
  const [repeated] = Object.entries(parameters ?? {}).filter(([, value]) => Array.isArray(value));
  if (repeated === undefined) return;
  const [pointer, message] = [`?${repeated[0]}`, "is given more than once"];
  throw refuse("invalidRequest", `The address is not valid. ${pointer}: ${message}.`, {
    errors: [{ pointer, message }],
  });
}

function invalid(error: z.core.$ZodError, root: "" | "?", above: readonly PropertyKey[]): ProblemError {
  const errors = distinctPlaces(error.issues, above);
  const where = root === "?" ? "The address" : "The body";
  const first = errors[0];
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const isWhole = first?.pointer === "";
  const detail = first === undefined ? "" : ` ${pointerText(first.pointer, root)}: ${first.message}${more}.`;
  return refuse("invalidRequest", isWhole ? `${where} ${first.message}${more}.` : `${where} is not valid.${detail}`, {
    errors: errors.map(({ pointer, message }) => ({ pointer: pointerText(pointer, root), message })),
  });
}

/** The first places of the issues, each once. Further issues are not converted, because a body can have thousands. */
function distinctPlaces(issues: readonly Issue[], above: readonly PropertyKey[]): ProblemPlace[] {
  const places = new Map<string, ProblemPlace>();
  for (const issue of issues) {
    for (const place of placesOf(issue, above)) {
      places.set(`${place.pointer} ${place.message}`, place);
      if (places.size >= PLACES_MAX) return [...places.values()];
    }
  }
  return [...places.values()];
}

function pointerText(pointer: string, root: "" | "?"): string {
  return root === "?" ? `?${pointer.slice(1)}` : pointer;
}

type Issue = z.core.$ZodIssue;

function placesOf(issue: Issue, above: readonly PropertyKey[]): ProblemPlace[] {
  const path = [...above, ...issue.path];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys
        .slice(0, PLACES_MAX)
        .map((key) => ({ pointer: pointerOf([...path, key]), message: "is not a known field" }));
    case "invalid_key":
      return [{ pointer: pointerOf(path), message: issue.issues[0]?.message ?? "is not a valid name" }];
    case "invalid_union":
      return unionPlaces(issue, path);
    default:
      return [{ pointer: pointerOf(path), message: issue.message }];
  }
}

/** For a union, the message comes from the alternative with the fewest errors. */
function unionPlaces(issue: Issue & { readonly code: "invalid_union" }, path: readonly PropertyKey[]): ProblemPlace[] {
  const nearest = issue.errors.reduce<readonly Issue[]>(
    (best, errors) => (best.length === 0 || (errors.length > 0 && errors.length < best.length) ? errors : best),
    [],
  );
  if (nearest.length > 0) return nearest.flatMap((inner) => placesOf(inner, path));
  const options = "options" in issue && Array.isArray(issue.options) ? issue.options : [];
  const message = options.length === 0 ? "has none of the allowed forms" : `must be one of ${options.join(", ")}`;
  return [{ pointer: pointerOf(path), message }];
}

/** A path as a JSON pointer (RFC 6901). */
function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
