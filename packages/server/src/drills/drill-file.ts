/** Drills as a file of the state directory. It is no part of the journal: what a drill does to nodes is a calendar entry there. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { AttemptId, WorkloadId } from "@headroom/model";
import { syncPath } from "@headroom/platform";
import { drill } from "@headroom/protocol";
import type { Drill } from "@headroom/protocol";
import type { RunningAttempt } from "@headroom/sim";
import type { HitWorkload } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";

const FILE = "drills.json";
const FORMAT = 1;

export interface StoredDrill {
  readonly drill: Drill;
  readonly idempotencyKey: string | null;
  /** Sequence of the journal before the drill. The observation begins after it. */
  readonly sequence: number;
  /** Attempts with workers on the nodes at that sequence. */
  readonly running: readonly (readonly [AttemptId, RunningAttempt])[];
  readonly hit: readonly (readonly [WorkloadId, HitWorkload])[];
}

/** The drills of earlier processes, the oldest first. A file that cannot be read is reported and does not stop the start. */
export function readDrills(home: string, log: Pick<DriverLog, "warn">): readonly StoredDrill[] {
  const file = path.join(home, FILE);
  if (!existsSync(file)) return [];
  try {
    const { format, drills } = JSON.parse(readFileSync(file, "utf8")) as { format: number; drills: StoredDrill[] };
    if (format !== FORMAT) throw new Error(`format ${format} instead of ${FORMAT}`);
    return drills.map((each) => ({ ...each, drill: drill.parse(each.drill) }));
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    log.warn(
      `The drills in ${file} are not readable (${reason}). Nodes of a running drill return at its end, or with headroom calendar remove.`,
    );
    return [];
  }
}

export function writeDrills(home: string, drills: readonly StoredDrill[]): void {
  const file = path.join(home, FILE);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify({ format: FORMAT, drills })}\n`, { mode: 0o600 });
  syncPath(draft);
  renameSync(draft, file);
  syncPath(home);
}
