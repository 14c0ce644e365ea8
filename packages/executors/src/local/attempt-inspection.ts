/**
 * Reads the state of an attempt from its records, and ends attempts whose supervisor is dead or whose records are
 * unreadable.
 */
import type { LossCause } from "@headroom/model";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord, RecordName, Records } from "../job-protocol/attempt-records.ts";
import { progressMark, UnreadableRecord } from "../job-protocol/attempt-files.ts";
import { supervisorLastWords } from "../job-protocol/supervisor-words.ts";
import { recordLost } from "../job-protocol/lost-attempt.ts";
import { groupsOfAttempt } from "../processes/isolation/cgroups.ts";
import { removeScratch } from "../processes/isolation/scratch.ts";
import type { ProcessIdentity } from "../processes/process-table.ts";
import { isAlive } from "../processes/process-table.ts";
import { killProcess, killSurvivors } from "../processes/worker-processes.ts";

export type Inspection =
  /** No launch was ever recorded, or all records of the attempt were removed. */
  | { readonly kind: "absent" }
  /** No supervisor has claimed the attempt: one may be starting, or none was started. */
  | { readonly kind: "unclaimed"; readonly launch: LaunchRecord }
  | { readonly kind: "starting" | "running"; readonly launch: LaunchRecord; readonly supervisor: ProcessIdentity }
  /** `launch` is `null` if the launch record is unreadable. */
  | { readonly kind: "ended"; readonly launch: LaunchRecord | null; readonly exit: ExitRecord }
  /**
   * The supervisor is gone without a record of the end, or a record is unreadable. Processes of the attempt can still
   * run.
   */
  | {
      readonly kind: "orphaned";
      readonly launch: LaunchRecord | null;
      readonly detail: string;
      /** Cause of the loss. Absent: the machine was the cause. */
      readonly cause?: LossCause;
    };

/** Throws only temporary errors, such as too many open files. A later call can succeed. */
export function inspectAttempt(files: AttemptFiles, bootId: string): Inspection {
  try {
    return inspectRecords(files, bootId);
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    const launch = files.readIfSound("launch.json");
    const exit = files.readIfSound("exit.json");
    if (exit !== null) return { kind: "ended", launch, exit };
    return { kind: "orphaned", launch, detail: `${unreadable}: ${error.message}.`, cause: "records" };
  }
}

const unreadable = "A record of the attempt is unreadable, so how it ended is not known; its workers were killed";
const LATER_RECORDS: readonly RecordName[] = ["claim.json", "workers.json", "running.json", "exit.json"];

function inspectRecords(files: AttemptFiles, bootId: string): Inspection {
  const launch = readUnlessLater(
    files,
    "launch.json",
    () => LATER_RECORDS.some((name) => files.has(name)) || files.wasClaimed,
  );
  if (launch === null) return { kind: "absent" };
  const exit = files.read("exit.json");
  if (exit !== null) return { kind: "ended", launch, exit };
  if (launch.bootId !== bootId) return { kind: "orphaned", launch, detail: "The machine restarted while it ran." };
  // This record is written before any worker executes its command.
  const claim = readUnlessLater(files, "claim.json", () => files.has("workers.json") || files.has("running.json"));
  if (claim === null) return { kind: "unclaimed", launch };
  if (claim.kind === "void") return { kind: "orphaned", launch, detail: claim.detail };
  const { supervisor } = claim;
  if (isAlive(supervisor))
    return { kind: files.read("running.json") === null ? "starting" : "running", launch, supervisor };
  // The supervisor may have recorded the end after the first check.
  const late = files.read("exit.json");
  if (late !== null) return { kind: "ended", launch, exit: late };
  const detail = `Its supervisor (pid ${supervisor.pid}) vanished without recording an end; its workers were killed.`;
  return { kind: "orphaned", launch, detail, cause: "supervisor" };
}

/**
 * Reads a record that is written before later ones. `null`: neither it nor a later one was written. Its absence beside
 * a later record means that it was removed, but only if it is absent after the later one was seen: the supervisor may
 * write both between the first read and the check.
 */
function readUnlessLater<Name extends "launch.json" | "claim.json">(
  files: AttemptFiles,
  name: Name,
  hasLater: () => boolean,
): Records[Name] | null {
  const record = files.read(name);
  if (record !== null || !hasLater()) return record;
  const written = files.read(name);
  if (written === null) throw new UnreadableRecord(`${files.recordsDir}/${name} was removed`);
  return written;
}

/** Notifies the supervisor of a request, if there is a supervisor. */
export function ringSupervisor(files: AttemptFiles, bootId: string): void {
  const claimed = inspectAttempt(files, bootId);
  // Processes ignore SIGURG by default, so the signal is harmless if another process has just got the pid.
  if ("supervisor" in claimed && isAlive(claimed.supervisor)) process.kill(claimed.supervisor.pid, "SIGURG");
}

/** Time limit in ms for ending one attempt. After this time the caller continues and tries again later. */
const BURIAL_TIMEOUT_MS = 5_000;

/**
 * Kills the processes of an attempt without a supervisor, and records its end once none of them runs. Only then may the
 * attempt be reported as lost, because the engine then starts its successor. Returns false if a process did not end in
 * time.
 */
export async function buryAttempt(
  files: AttemptFiles,
  orphan: Inspection & { kind: "orphaned" },
  bootId: string,
): Promise<boolean> {
  const gone = await killAttempt(files, orphan.launch, bootId);
  if (gone) {
    recordLost(files, {
      detail: orphan.detail + supervisorLastWords(files),
      ...(orphan.cause === undefined ? {} : { cause: orphan.cause }),
    });
  }
  return gone;
}

/** Kills the supervisor first, so that it starts no further process. Returns false if a process did not end in time. */
export async function killAttempt(files: AttemptFiles, launch: LaunchRecord | null, bootId: string): Promise<boolean> {
  const claim = files.readIfSound("claim.json");
  const supervisor = claim?.kind === "supervised" && claim.bootId === bootId ? claim.supervisor : null;
  // Pids recorded before a reboot belong to other processes now, so no process is killed.
  const isThisBoot = supervisor !== null || launch?.bootId === bootId;
  const known = isThisBoot ? files.readIfSound("workers.json") : null;
  if (supervisor !== null && isAlive(supervisor)) {
    killProcess(supervisor.pid);
    // Its workers wait at gates that close when the supervisor ends. The signal may not have taken effect when `kill`
    // returns.
    for (const untilMs = performance.now() + BURIAL_TIMEOUT_MS; isAlive(supervisor);) {
      if (performance.now() > untilMs) return false;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  const workers = [...(known?.workers ?? []), ...(known?.leaving ?? [])];
  const groups = [groupsOfAttempt(launch?.isolation?.cgroups ?? [], files.key.name)];
  const processes = { workers, marks: [files.environmentMark], groups };
  if (!(await killSurvivors(processes, BURIAL_TIMEOUT_MS))) return false;
  if (launch !== null) {
    for (const group of groups) group.remove();
    await removeScratch(launch);
    return true;
  }
  // In releases without authenticated records, the progress file of an attempt was below its records.
  const marks = [progressMark(`${files.recordsDir}/progress.jsonl`)];
  return killSurvivors({ workers: [], marks }, BURIAL_TIMEOUT_MS);
}
