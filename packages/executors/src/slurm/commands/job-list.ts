/** The jobs of this executor, as `squeue` lists them. */

/** One job of an attempt. A heterogeneous job has several; they count as one, in the state that says most. */
export interface ListedJob {
  readonly name: string;
  /** `ended`: it runs no more and will not run. */
  readonly phase: "pending" | "active" | "ended";
  /** State and reason as Slurm words them, for people. */
  readonly detail: string;
  /** Ids of the jobs with this name: several, if the attempt was submitted again. */
  readonly ids: readonly string[];
}

export interface JobList {
  readonly jobs: ReadonlyMap<string, ListedJob>;
  /** False: a line could not be read or is cut off, so a job that is not listed may exist. */
  readonly isComplete: boolean;
}

/** `squeue --format`. The name comes last, because only it may contain the separator. */
export const JOB_FORMAT = "%i|%T|%r|%U|%j";

const PENDING: ReadonlySet<string> = new Set(["PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "REQUEUE_FED"]);
const ACTIVE: ReadonlySet<string> = new Set([
  "RUNNING",
  "CONFIGURING",
  "COMPLETING",
  "SUSPENDED",
  "STOPPED",
  "SIGNALING",
  "STAGE_OUT",
  "RESIZING",
  "RESV_DEL_HOLD",
]);
const ENDED: ReadonlySet<string> = new Set([
  "BOOT_FAIL",
  "CANCELLED",
  "COMPLETED",
  "DEADLINE",
  "FAILED",
  "LAUNCH_FAILED",
  "NODE_FAIL",
  "OUT_OF_MEMORY",
  "PREEMPTED",
  "REVOKED",
  "TIMEOUT",
]);

/**
 * `prefix`: names of this executor's jobs begin with it. Jobs with other names, and those of users who do not own a job of this name, are
 * left out: anyone may submit a job with any name.
 */
export function readJobList(text: string, prefix: string, owns: (uid: number, name: string) => boolean): JobList {
  const jobs = new Map<string, ListedJob>();
  let isComplete = text === "" || text.endsWith("\n");
  const lines = text.split("\n");
  // A line without its end is cut off.
  lines.pop();
  for (const line of lines) {
    const match = /^(\d+)(?:[+_][^|]*)?\|([A-Z_]+)\|([^|]*)\|(\d+)\|(.*)$/.exec(line);
    const phase = phaseOf(match?.[2] ?? "");
    if (match === null || phase === null) {
      isComplete = isComplete && line === "";
      continue;
    }
    const [, id = "", state = "", reason = "", uid = "", name = ""] = match;
    if (!name.startsWith(prefix) || !owns(Number(uid), name)) continue;
    const before = jobs.get(name);
    const ids = [...(before?.ids ?? []), id];
    const job: ListedJob = { name, phase, detail: reason === "None" ? state : `${state}, ${reason}`, ids };
    jobs.set(name, before === undefined || weight(job) > weight(before) ? job : { ...before, ids });
  }
  return { jobs, isComplete };
}

function phaseOf(state: string): ListedJob["phase"] | null {
  if (PENDING.has(state)) return "pending";
  if (ACTIVE.has(state)) return "active";
  return ENDED.has(state) ? "ended" : null;
}

const weight = ({ phase }: ListedJob): number => ({ active: 2, pending: 1, ended: 0 })[phase];
