/** Reading as tests look at it. */
import { pathText, readDocument } from "../index.ts";
import type { HeadroomDocument } from "../index.ts";

/** Each problem as `path: message`, the way a user sees it but for the line. */
export function problemsIn(value: unknown): string[] {
  const reading = readDocument(value);
  return reading.ok ? [] : reading.problems.map(({ path, message }) => `${pathText(path)}: ${message}`);
}

export function documentIn(value: unknown): HeadroomDocument {
  const reading = readDocument(value);
  if (!reading.ok) throw new Error(reading.problems.map(({ message }) => message).join("; "));
  return reading.document;
}

/** The least that a workload needs, and more. */
export const train = (fields: object): object => ({ kind: "train", name: "a", run: "true", ...fields });
