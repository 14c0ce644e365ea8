/** The active triggers on disk (`triggers-fired.json` of the state directory), so that a restart repeats no announcement and no proposal. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

const FILE = "triggers-fired.json";

const fired = z.object({ name: z.string(), firedAtMs: z.number(), proposalId: z.string().nullable() });
/** The former form has names alone. */
const entries = z.array(z.union([fired, z.string()]));

export interface FiredTrigger {
  readonly name: string;
  readonly firedAtMs: number;
  /** `null`: the proposal was not made yet. */
  readonly proposalId: string | null;
}

/** A file that cannot be read is an empty one: the triggers then fire again, and find their open proposals. */
export function firedBefore(home: string, nowMs: number): readonly FiredTrigger[] {
  try {
    const stored = entries.parse(JSON.parse(readFileSync(path.join(home, FILE), "utf8")));
    return stored.map((each) => (typeof each === "string" ? { name: each, firedAtMs: nowMs, proposalId: null } : each));
  } catch {
    return [];
  }
}

export function writeFired(home: string, all: readonly FiredTrigger[]): void {
  const file = path.join(home, FILE);
  const draft = `${file}.${process.pid}`;
  const sorted = all.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  writeFileSync(draft, `${JSON.stringify(sorted)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}
