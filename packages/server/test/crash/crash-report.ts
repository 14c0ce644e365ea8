/** Figures of the crash tests: one line for people, and one file for CI. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const reports = path.resolve(import.meta.dirname, "../../../../.build/reports");

export function writeReport(name: string, report: Readonly<Record<string, unknown>>): void {
  mkdirSync(reports, { recursive: true });
  writeFileSync(path.join(reports, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`);
  console.log(`${name}: ${JSON.stringify(report)}`);
}

export function addCounts(into: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [label, count] of Object.entries(more)) into[label] = (into[label] ?? 0) + count;
}

/**
 * Seed of commands, kill points and power cuts; `HEADROOM_SEED` selects another one. Timings differ from run to run.
 */
export const baseSeed = Number(process.env["HEADROOM_SEED"] ?? 1);
