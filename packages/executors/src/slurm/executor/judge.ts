/**
 * Conclusions from Slurm's answers about a job. Pure. Slurm's word alone ends nothing: an answer may be empty, cut off or
 * wrong, and a controller that was killed after a submission forgets jobs whose steps run (Slurm 22.05). So an attempt is lost only
 * if complete answers say for some time that its job does not run, and its supervisors have shown no sign of life for as long.
 */
import type { JobList, ListedJob } from "../commands/job-list.ts";
import type { WatchedJob } from "./slurm-attempt.ts";

export interface JudgeRules {
  readonly lostAfterMs: number;
  readonly startTimeoutMs: number;
  /** Time in ms for which a job must be missing before it is submitted again. Twice is harmless: one job claims the attempt. */
  readonly resubmitAfterMs: number;
}

export type Conclusion =
  | { readonly kind: "wait" }
  | { readonly kind: "submit" }
  /** Slurm says that nodes of the job take no work. */
  | { readonly kind: "checkNodes"; readonly detail: string }
  /** The attempt never starts. `supervisor`: its supervisor cannot be started. */
  | { readonly kind: "void"; readonly detail: string; readonly isSupervisor: boolean }
  /** Slurm ended the job, and its supervisors live: they stop. */
  | { readonly kind: "fence"; readonly detail: string }
  | { readonly kind: "lost"; readonly detail: string };

/** The job that holds the attempt. A job of the same name that ended says nothing about it: it may be a second submission. */
export interface Claim {
  /** Absent: a supervisor of an older release recorded the claim. */
  readonly jobId?: string | undefined;
}

const wait: Conclusion = { kind: "wait" };
/** Answers in a row that must agree. */
const ANSWERS_MIN = 2;
/** Jobs that end without a claim before the attempt is given up. */
const UNCLAIMED_ENDS_MAX = 2;

/** Reasons of a job whose nodes are down or drained, or kept by a reservation (squeue(1), "JOB REASON CODES"). */
const UNAVAILABLE = /ReqNodeNotAvail|UnavailableNodes|NodeDown|Nodes required for job are DOWN/;

/** Notes what the answer says, and concludes. `jobName`: the name of the attempt's job. */
export function judge(
  watched: WatchedJob,
  list: JobList,
  jobName: string,
  rules: JudgeRules,
  claim: Claim | null,
): Conclusion {
  const nowMs = performance.now();
  const job = list.jobs.get(jobName) ?? null;
  if (job !== null && job.phase !== "ended") {
    watched.goneSinceMs = null;
    watched.goneCount = 0;
    watched.pendingSinceMs = job.phase === "pending" ? (watched.pendingSinceMs ?? nowMs) : null;
    if (claim !== null) return wait;
    return watched.passedOnAtMs === null
      ? judgeWaiting(watched, job, rules, nowMs)
      : judgePassedOn(watched, rules, nowMs);
  }
  if (job === null && !list.isComplete) return wait;
  watched.goneSinceMs ??= nowMs;
  watched.goneCount += 1;
  if (watched.goneCount < ANSWERS_MIN) return wait;
  const own = claim?.jobId === undefined || job?.ids.includes(claim.jobId) === true ? job : null;
  return claim !== null ? judgeClaimed(watched, own, rules, nowMs) : judgeUnclaimed(watched, job, rules, nowMs);
}

function judgeWaiting({ pendingSinceMs }: WatchedJob, job: ListedJob, rules: JudgeRules, nowMs: number): Conclusion {
  if (pendingSinceMs === null) return wait;
  const pendingForMs = nowMs - pendingSinceMs;
  if (pendingForMs < rules.startTimeoutMs)
    return pendingForMs >= rules.resubmitAfterMs && UNAVAILABLE.test(job.detail)
      ? { kind: "checkNodes", detail: `Slurm did not start its job (${job.detail}).` }
      : wait;
  const detail = `Slurm did not start its job within ${Math.round(rules.startTimeoutMs / 1_000)} s (${job.detail}).`;
  return { kind: "void", detail, isSupervisor: false };
}

/** The job that was to take the attempt is active, and may be one that hangs at its end. */
function judgePassedOn({ passedOnAtMs, isSubmitting }: WatchedJob, rules: JudgeRules, nowMs: number): Conclusion {
  const isLate = passedOnAtMs !== null && nowMs - passedOnAtMs >= rules.resubmitAfterMs;
  return isLate && !isSubmitting ? { kind: "submit" } : wait;
}

function judgeUnclaimed(watched: WatchedJob, job: ListedJob | null, rules: JudgeRules, nowMs: number): Conclusion {
  if (watched.isSubmitting || nowMs < watched.submitAtMs) return wait;
  if (nowMs - (watched.goneSinceMs ?? nowMs) < rules.resubmitAfterMs) return wait;
  // The end of a job that was passed on says nothing about the attempt's own jobs.
  if (job !== null && watched.passedOnAtMs === null) watched.unclaimedEnds += 1;
  if (watched.unclaimedEnds < UNCLAIMED_ENDS_MAX) return { kind: "submit" };
  const detail = `Its jobs ended in Slurm before a supervisor claimed it (${job?.detail ?? "not listed"}).`;
  return { kind: "void", detail, isSupervisor: true };
}

function judgeClaimed(
  watched: WatchedJob,
  job: ListedJob | null,
  { lostAfterMs }: JudgeRules,
  nowMs: number,
): Conclusion {
  const goneForMs = nowMs - (watched.goneSinceMs ?? nowMs);
  if (goneForMs < lostAfterMs) return wait;
  const what = job === null ? "Slurm no longer lists its job" : `Slurm ended its job (${job.detail})`;
  const silentForMs = nowMs - watched.signChangedAtMs;
  if (silentForMs >= lostAfterMs)
    return {
      kind: "lost",
      detail: `${what}, and its supervisors have been silent for ${Math.round(silentForMs / 1_000)} s.`,
    };
  // A controller that forgot a job leaves its steps alone; one that ended it has given its accelerators to others.
  return job === null ? wait : { kind: "fence", detail: `${what}.` };
}
