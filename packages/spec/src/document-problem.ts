/**
 * A problem in a document and its place. The place is a path into the document, which a file format converts to line
 * and column.
 */
import type { z } from "zod";
import { notAChoice } from "./encoding/read-values.ts";
import { shown } from "./notation/reading.ts";

export interface FieldProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export interface DocumentProblem extends FieldProblem {
  /** True: the problem concerns the name of a field (the last step of the path), not its value. */
  readonly isAboutKey: boolean;
}

/** Reserved kinds that no executor runs yet. */
const laterKinds: readonly string[] = ["workspace"];

/**
 * Converts issues found by Zod to problems. An issue about several unknown fields becomes one problem for each field.
 */
export function problemsOf(issues: readonly z.core.$ZodIssue[], document: unknown): DocumentProblem[] {
  return issues.flatMap((issue): DocumentProblem[] => {
    const path = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
    if (issue.code === "unrecognized_keys") {
      const messages = issue.message.split("\n");
      return issue.keys.map((key, index) => ({
        path: [...path, key],
        isAboutKey: true,
        message: messages[index] ?? issue.message,
      }));
    }
    return [{ path, isAboutKey: false, message: message(issue, path, document) }];
  });
}

function message(issue: z.core.$ZodIssue, path: readonly (string | number)[], document: unknown): string {
  const value = valueAt(document, path);
  if (value === undefined && path.length > 0) return "is required";
  if (issue.code === "invalid_union" && path.at(-1) === "kind") return kindMessage(value, issue);
  return issue.message;
}

function kindMessage(value: unknown, issue: z.core.$ZodIssue): string {
  if (typeof value === "string" && laterKinds.includes(value)) return `${value} is not supported yet`;
  const options = "options" in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
  return notAChoice(value, options);
}

function valueAt(document: unknown, path: readonly (string | number)[]): unknown {
  let value = document;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return value;
}

/** The path as text, such as `sites[0].pools[1].name`. Keys that are not plain names are quoted. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(step)) return `${text}[${shown(step)}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}
