/**
 * Jobs whose attempt has ended and that wait for the next one of the same workload (`agent/next-attempt.ts`). A short task of an array
 * costs less in such a job than in a new one: no submission, no decision of Slurm, no start of a supervisor. Nothing depends on this
 * list: an attempt that no job claims is submitted later.
 */
import { taskCountOf, type LaunchGang } from "@headroom/model";
import { endedWellWithin } from "../agent/next-attempt.ts";
import type { SlurmSettings } from "../settings.ts";
import { runAsOf } from "./job-owners.ts";
import type { NodeShare } from "./submission.ts";
import { accountName } from "./submitters.ts";
import { isMissing, type AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { JobReuse, LaunchRecord, NextRecord } from "../../job-protocol/attempt-records.ts";
import { partsOf } from "../../job-protocol/attempt-parts.ts";

/** Time in ms that a job waits. Its node is idle for Slurm's other users in the meantime. */
const WAIT_MS = 3_000;
/** Longest run time of a task in ms that is worth it: a new job costs about a second. */
const TASK_MAX_MS = 60_000;

/** Most of the time limit of a job that other tasks may have used when a task starts in it. */
const LIMIT_SHARE_MAX = 1 / 12;

/** `null`: the attempt gets a job of its own, and no other runs in it. */
export function jobReuse(
  { spec, number }: LaunchGang,
  shares: readonly NodeShare[],
  settings: SlurmSettings,
): JobReuse | null {
  const { jobReuseMs: untilMs, timeLimitMinutes } = settings;
  const [share, ...others] = shares;
  if (untilMs === 0 || share === undefined || others.length > 0) return null;
  // A second attempt may be one that the time limit of the first one ended.
  if (spec.kind !== "batch" || taskCountOf(spec) === 1 || number > 1) return null;
  // With a walltime, the limit of the job has ten minutes more (`timeLimit` in submission.ts).
  const limit = spec.walltimeMs === null ? (timeLimitMinutes ?? share.node.limitMinutes) : null;
  if (limit !== null && untilMs > limit * 60_000 * LIMIT_SHARE_MAX) return null;
  const account = accountName(spec.team, settings) ?? null;
  return { waitMs: WAIT_MS, untilMs, attemptMs: TASK_MAX_MS, account };
}

interface WaitingJob {
  /** Records of the attempt that has ended. */
  readonly files: AttemptFiles;
  /** Name of the attempt for which the job was submitted. */
  readonly host: string;
  readonly node: string;
  readonly untilMs: number;
}

export class ReusableJobs {
  readonly #waiting = new Map<string, WaitingJob[]>();

  /** Notes that an attempt has ended whose job may wait. */
  note(files: AttemptFiles, launch: LaunchRecord): void {
    this.#dropLate();
    const key = keyOf(launch);
    const claim = files.readIfSound("claim.json");
    if (key === null || claim?.kind !== "supervised" || claim.takesNext !== true) return;
    if (!mayWait(files, launch)) return;
    // Users can forge the records of their attempts.
    if (runAsOf(files) !== null) return;
    const untilMs = performance.now() + (launch.reuse?.waitMs ?? 0);
    const job = { files, host: claim.host ?? files.key.name, node: partsOf(launch)[0]?.node ?? "", untilMs };
    this.#waiting.set(key, [...this.#inTime(key), job]);
  }

  /** Passes a job on to the attempt, whose launch is recorded. Returns the attempt for which it was submitted; `null`: none waits. */
  passOn(name: string, launch: LaunchRecord): string | null {
    const key = keyOf(launch);
    if (key === null) return null;
    for (const { files, host } of this.#take(key)) if (settle(files, { kind: "attempt", name })) return host;
    return null;
  }

  /** Ends jobs that wait on the nodes, because other work goes there. */
  endOn(nodes: ReadonlySet<string>): void {
    for (const [key, jobs] of this.#waiting) {
      for (const { files, node } of jobs) if (nodes.has(node)) settle(files, { kind: "closed" });
      const others = jobs.filter(({ node }) => !nodes.has(node));
      if (others.length > 0) this.#waiting.set(key, others);
      else this.#waiting.delete(key);
    }
  }

  /** Jobs with the key, each removed when it is taken; the oldest has the least time left and comes last. */
  *#take(key: string): Generator<WaitingJob> {
    const jobs = [...this.#inTime(key)];
    for (let job = jobs.pop(); job !== undefined; job = jobs.pop()) {
      if (jobs.length > 0) this.#waiting.set(key, [...jobs]);
      else this.#waiting.delete(key);
      yield job;
    }
  }

  #dropLate(): void {
    for (const key of this.#waiting.keys()) if (this.#inTime(key).length === 0) this.#waiting.delete(key);
  }

  #inTime(key: string): readonly WaitingJob[] {
    const nowMs = performance.now();
    return (this.#waiting.get(key) ?? []).filter(({ untilMs }) => nowMs < untilMs);
  }
}

/** Attempts with the same key can follow each other in a job: the same workload with the same amounts on the same node. */
function keyOf(launch: LaunchRecord): string | null {
  const [part, ...others] = partsOf(launch);
  if (launch.reuse === undefined || launch.runAs !== undefined || part?.amounts === undefined || others.length > 0)
    return null;
  const { accelerators, cores, memoryMib } = part.amounts;
  return JSON.stringify([launch.workloadId, launch.reuse.account, part.node, accelerators, cores, memoryMib]);
}

/** The supervisor decides; this keeps out ends that it has certainly refused, and those of attempts that ended long ago. */
function mayWait(files: AttemptFiles, { reuse }: LaunchRecord): boolean {
  const end = files.readIfSound("exit.json");
  if (end === null || reuse === undefined || Date.now() - end.endedAtMs > reuse.waitMs) return false;
  return endedWellWithin(files, end, reuse.attemptMs) && files.readIfSound("next.json") === null;
}

/** Returns whether this record counts. The records of an attempt that was forgotten take none. */
function settle(files: AttemptFiles, next: NextRecord): boolean {
  try {
    return files.create("next.json", next);
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
