/** Reads documents in tests. */
import { pathText, readDocument } from "../index.ts";
import type { HeadroomDocument } from "../index.ts";

/** Each problem as `path: message`, as a user sees the problem except for the line number. */
export function problemsIn(value: unknown): string[] {
  const reading = readDocument(value);
  return reading.ok ? [] : reading.problems.map(({ path, message }) => `${pathText(path)}: ${message}`);
}

export function documentIn(value: unknown): HeadroomDocument {
  const reading = readDocument(value);
  if (!reading.ok) throw new Error(reading.problems.map(({ message }) => message).join("; "));
  return reading.document;
}

/** A minimal `train` document with additional fields for a test. */
export const train = (fields: object): object => ({ kind: "train", name: "a", run: "true", ...fields });
