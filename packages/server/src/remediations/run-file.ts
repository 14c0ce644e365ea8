/** Runs of remediations as a file of the state directory. Their drains are proposals in the journal. */
import { existsSync, readFileSync, renameSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import path from "node:path";
import { syncPath } from "@headroom/platform";
import { REMEDIATION_RUNS_KEPT, remediationRun } from "@headroom/protocol";
import type { RemediationRun } from "@headroom/protocol";
import type { DriverLog } from "../driver/driver-log.ts";

const FILE = "remediation-runs.json";
const FORMAT = 1;

export interface StoredRuns {
  /** The newest instant at which a proposal was acted on whose run began. Proposals up to it begin no run again. */
  readonly begunUntilMs: number;
  /** The oldest first. */
  readonly runs: readonly RemediationRun[];
}

/** `null`: there is no readable file, so nothing is known of runs that other processes began. */
export function readRuns(home: string, log: Pick<DriverLog, "warn">): StoredRuns | null {
  const file = path.join(home, FILE);
  if (!existsSync(file)) return null;
  try {
    const { format, begunUntilMs, runs } = JSON.parse(readFileSync(file, "utf8")) as StoredRuns & { format: number };
    if (format !== FORMAT) throw new Error(`format ${format} instead of ${FORMAT}`);
    return { begunUntilMs, runs: runs.map((run) => remediationRun.parse(run)) };
  } catch (error) {
    // The next run is written to a new file.
    renameSync(file, `${file}.unreadable`);
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    log.warn(
      `The runs of remediations are not readable (${reason}), and kept as ${file}.unreadable. No run continues; drained nodes stay drained: headroom nodes list.`,
    );
    return null;
  }
}

export async function writeRuns(home: string, stored: StoredRuns): Promise<void> {
  const file = path.join(home, FILE);
  const draft = `${file}.${process.pid}`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.writeFile(`${JSON.stringify({ format: FORMAT, ...stored })}\n`);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  syncPath(home);
}

/** The newest runs, and those that are not over. */
export const keptRuns = (runs: readonly RemediationRun[]): readonly RemediationRun[] =>
  runs.filter(({ endedAtMs }, index) => endedAtMs === null || index >= runs.length - REMEDIATION_RUNS_KEPT);
