/**
 * Waits in a job whose attempt has ended for the next attempt of the same workload. The records of the ended attempt name it: the first
 * record counts, so either the control plane passes the job on or the job ends, and both know which.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "../../job-protocol/attempt-records.ts";

/** Interval in ms for reading the record. */
const POLL_MS = 50;

/** Whether the job may take another attempt after one that has ended by itself, without a failure. Times are in ms. */
export function canTakeNext(files: AttemptFiles, { reuse }: LaunchRecord, end: ExitRecord, jobMs: number): boolean {
  if (reuse === undefined || jobMs > reuse.untilMs) return false;
  return endedWellWithin(files, end, reuse.attemptMs);
}

/** Whether an attempt ended by itself, without a failure, within the run time. */
export function endedWellWithin(files: AttemptFiles, end: ExitRecord, attemptMs: number): boolean {
  if (end.kind !== "exited" || end.endedAtMs - end.startedAtMs > attemptMs) return false;
  if (end.exits.some((exit) => exit.kind === "signalled" || exit.code !== 0)) return false;
  return files.readIfSound("stop.json") === null && files.readIfSound("fence.json") === null;
}

/** Name of the next attempt; `null`: none came. */
export async function nextAttempt(files: AttemptFiles, waitMs: number): Promise<string | null> {
  const deadlineMs = performance.now() + waitMs;
  while (performance.now() < deadlineMs) {
    const next = files.readIfSound("next.json");
    if (next !== null) return next.kind === "attempt" ? next.name : null;
    await delay(POLL_MS);
  }
  if (files.create("next.json", { kind: "closed" })) return null;
  const next = files.readIfSound("next.json");
  return next?.kind === "attempt" ? next.name : null;
}
