/** What an attempt's directory says, and the funeral of an attempt whose supervisor is dead. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { ExitRecord, LaunchRecord } from "./attempt-files.ts";
import {
  createRecord,
  createRecordDurably,
  environmentMarkOf,
  readRecord,
  supervisorLastWords,
} from "./attempt-files.ts";
import type { ProcessIdentity } from "./process-table.ts";
import { isAlive } from "./process-table.ts";
import { killSurvivors } from "./worker-processes.ts";

export type Inspection =
  /** No launch was ever recorded. */
  | { readonly kind: "absent" }
  /** Nobody has taken it: a supervisor may be on its way, or none was started. */
  | { readonly kind: "unclaimed"; readonly launch: LaunchRecord }
  | { readonly kind: "starting" | "running"; readonly launch: LaunchRecord; readonly supervisor: ProcessIdentity }
  | { readonly kind: "ended"; readonly launch: LaunchRecord; readonly exit: ExitRecord }
  /** Whoever held it is gone without a record of the end; its processes may still run. */
  | { readonly kind: "orphaned"; readonly launch: LaunchRecord; readonly restarted: boolean; readonly detail: string };

export function inspectAttempt(attemptDir: string, bootId: string): Inspection {
  const launch = readRecord(attemptDir, "launch.json");
  if (launch === null) return { kind: "absent" };
  const exit = readRecord(attemptDir, "exit.json");
  if (exit !== null) return { kind: "ended", launch, exit };
  if (launch.bootId !== bootId) {
    return { kind: "orphaned", launch, restarted: true, detail: "The machine restarted while it ran." };
  }
  const claim = readRecord(attemptDir, "claim.json");
  if (claim === null) return { kind: "unclaimed", launch };
  if (claim.kind === "void") return { kind: "orphaned", launch, restarted: false, detail: claim.detail };
  const { supervisor } = claim;
  if (isAlive(supervisor)) {
    const running = existsSync(path.join(attemptDir, "running.json"));
    return { kind: running ? "running" : "starting", launch, supervisor };
  }
  // It may have written the end between the first look and its own.
  const late = readRecord(attemptDir, "exit.json");
  if (late !== null) return { kind: "ended", launch, exit: late };
  const detail = `Its supervisor (pid ${supervisor.pid}) vanished without recording an end; its workers were killed.`;
  return { kind: "orphaned", launch, restarted: false, detail };
}

/** Tells the supervisor, if there is one, that something is asked of it. */
export function ringSupervisor(attemptDir: string, bootId: string): void {
  const claimed = inspectAttempt(attemptDir, bootId);
  // SIGURG is ignored by whoever does not ask for it: harmless if the pid has just passed to a stranger.
  if ("supervisor" in claimed && isAlive(claimed.supervisor)) process.kill(claimed.supervisor.pid, "SIGURG");
}

/** How long one funeral may take before the caller goes on and tries again later. */
const FUNERAL_TIMEOUT_MS = 5_000;

/**
 * Kills what is left of an orphaned attempt and records its end once nothing of it runs: only then may it be called lost,
 * since the engine will start its successor. False when something would not die in time.
 */
export async function buryAttempt(attemptDir: string, orphan: Inspection & { kind: "orphaned" }): Promise<boolean> {
  // Pids recorded before a restart of the machine name strangers now.
  const known = orphan.restarted ? null : readRecord(attemptDir, "workers.json");
  const workers = [...(known?.workers ?? []), ...(known?.leaving ?? [])];
  const gone = await killSurvivors(workers, [environmentMarkOf(attemptDir)], FUNERAL_TIMEOUT_MS);
  if (gone) recordLost(attemptDir, orphan.detail + supervisorLastWords(attemptDir));
  return gone;
}

/** Takes an attempt that nobody holds, so that it never starts. False when a supervisor was first. */
export function voidAttempt(attemptDir: string, detail: string): boolean {
  if (!createRecord(attemptDir, "claim.json", { version: 1, kind: "void", detail })) return false;
  recordLost(attemptDir, detail);
  return true;
}

function recordLost(attemptDir: string, detail: string): void {
  createRecordDurably(attemptDir, "exit.json", { version: 1, kind: "lost", endedAtMs: Date.now(), detail });
}
