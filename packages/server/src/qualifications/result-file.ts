/** The newest result of the suite on each node, as a file of the state directory: other nodes are compared with it. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Measurement } from "@headroom/health";
import type { QualificationSuite } from "@headroom/model";

const FILE = "qualification-results.json";
const MEASUREMENTS_MAX = 200;

export interface StoredResult {
  readonly node: string;
  readonly pool: string;
  readonly suite: QualificationSuite;
  readonly atMs: number;
  readonly durationMs: number;
  readonly isPassed: boolean;
  readonly detail: string;
  readonly measurements: readonly Measurement[];
}

/** An unreadable file counts as none: nodes are then compared with those that follow. */
export function readResults(home: string): Map<string, StoredResult> {
  try {
    const stored = JSON.parse(readFileSync(path.join(home, FILE), "utf8")) as readonly StoredResult[];
    return new Map(stored.map((each) => [each.node, each]));
  } catch {
    return new Map();
  }
}

export function writeResults(home: string, results: Iterable<StoredResult>): void {
  const file = path.join(home, FILE);
  const draft = `${file}.draft`;
  const kept = Array.from(results, (each) => ({ ...each, measurements: each.measurements.slice(0, MEASUREMENTS_MAX) }));
  writeFileSync(draft, JSON.stringify(kept), { mode: 0o600, flush: true });
  renameSync(draft, file);
}
