/** Runbooks of an incident or a finding. */
import type { Incident } from "@headroom/protocol";
import { printable } from "../terminal.ts";

/** One pair for each: `runbook` and its text, its address, or both. */
export const runbookPairs = (runbooks: Incident["runbooks"] = []): readonly (readonly [string, string])[] =>
  runbooks.map(({ text, url }) => ["runbook", printable([text, url].filter((each) => each !== null).join(" "))]);
