/** The stored plan as a file of the state directory. It is no part of the journal, because no decision reads it. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { syncPath } from "@headroom/platform";
import { storedPlan } from "@headroom/protocol";
import type { StoredPlan } from "@headroom/protocol";
import type { DriverLog } from "../driver/driver-log.ts";

const FILE = "plan.json";
const nothingStored: StoredPlan = { storedAtMs: null, actor: null, documents: null, solved: null };

/** The plan of an earlier process. A file that cannot be read, or of another version, is reported and does not stop the start. */
export function readStoredPlan(home: string, log: Pick<DriverLog, "warn">): StoredPlan {
  const file = path.join(home, FILE);
  if (!existsSync(file)) return nothingStored;
  try {
    return storedPlan.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    log.warn(`The stored plan ${file} is not readable (${reason}). Store it again: headroom plan store FILE`);
    return nothingStored;
  }
}

export function writeStoredPlan(home: string, stored: StoredPlan): void {
  const file = path.join(home, FILE);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(stored)}\n`, { mode: 0o600 });
  syncPath(draft);
  renameSync(draft, file);
  syncPath(home);
}
