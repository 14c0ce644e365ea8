/**
 * Past work of a cluster as it is imported: accelerators that users held by period, and the newest jobs that ran to their end. Jobs of
 * Headroom itself are left out, because they count already.
 */
import type { JobRow } from "@headroom/executors/slurm-reading";
import type { HistoryRequestInput } from "@headroom/protocol";
import { KeptRows } from "./slurm-output.ts";

const DAY_MS = 86_400_000;
/** Periods in days by which use is added up: the first with which the rows are few enough is used. */
const PERIODS = [1, 7, 28, 112];
const USES_MAX = 4_000;
const RUNS_MAX = 2_000;
/** Newest jobs that are kept while a file is read, before those that did not complete are left out. */
const KEPT_MAX = 50_000;
/** Names that `slurm-executor.ts` gives to its jobs. */
const OWN_JOB = /^headroom-[0-9a-f]{10}-/;
/** States in which a job ended by itself or by its time limit, so that its run time says something. */
const TELLING: ReadonlySet<string> = new Set(["COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY"]);

type ImportedRunInput = HistoryRequestInput["runs"][number];
type ImportedUseInput = HistoryRequestInput["uses"][number];

interface PastJob extends Omit<ImportedRunInput, "tookMs"> {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Whether its run time is that of such work. */
  readonly tellsRunTime: boolean;
}

/** Adds jobs up as they are read. */
export class PastWork {
  readonly leftOut: Record<string, number> = {};
  jobCount = 0;
  #fromMs = Infinity;
  #toMs = 0;
  #firstStartMs = Infinity;
  /** Accelerator-ms by user and day. */
  readonly #days = new Map<string, Map<number, number>>();
  #runs: ImportedRunInput[] = [];

  leaveOut(reason: string): void {
    this.leftOut[reason] = (this.leftOut[reason] ?? 0) + 1;
  }

  add({ startedAtMs, endedAtMs, tellsRunTime, ...job }: PastJob): void {
    this.jobCount += 1;
    this.#fromMs = Math.min(this.#fromMs, job.submittedAtMs);
    this.#toMs = Math.max(this.#toMs, endedAtMs);
    this.#firstStartMs = Math.min(this.#firstStartMs, startedAtMs);
    const key = JSON.stringify([job.account, job.user]);
    const days = this.#days.get(key) ?? new Map<number, number>();
    this.#days.set(key, days);
    for (let day = Math.floor(startedAtMs / DAY_MS); day * DAY_MS < endedAtMs; day += 1) {
      const heldMs = Math.min(endedAtMs, (day + 1) * DAY_MS) - Math.max(startedAtMs, day * DAY_MS);
      days.set(day, (days.get(day) ?? 0) + heldMs * job.accelerators);
    }
    if (tellsRunTime) this.#runs.push({ ...job, tookMs: endedAtMs - startedAtMs });
    if (this.#runs.length > 2 * KEPT_MAX) this.#runs = newest(this.#runs, KEPT_MAX);
  }

  /** `null`: there is no job that counts, or its use has too many rows. */
  request(source: string, unreadCount: number): HistoryRequestInput | null {
    const uses = this.#uses();
    if (uses === null || uses.length === 0) return null;
    return {
      source,
      fromMs: this.#fromMs,
      toMs: this.#toMs,
      jobCount: this.jobCount,
      leftOutCount: Object.values(this.leftOut).reduce((sum, count) => sum + count, 0),
      unreadCount,
      uses: [...uses],
      runs: newest(this.#runs, RUNS_MAX),
    };
  }

  #uses(): readonly ImportedUseInput[] | null {
    for (const length of PERIODS) {
      const uses = [...this.#days].flatMap(([key, days]) =>
        periodsOf(key, days, { length, fromMs: this.#firstStartMs, toMs: this.#toMs }),
      );
      if (uses.length <= USES_MAX) return uses;
    }
    return null;
  }
}

interface Span {
  /** Days of a period. */
  readonly length: number;
  /** First start and last end of the file: the first and the last period are as long as what they contain. */
  readonly fromMs: number;
  readonly toMs: number;
}

function periodsOf(
  key: string,
  days: ReadonlyMap<number, number>,
  { length, fromMs, toMs }: Span,
): readonly ImportedUseInput[] {
  const [account, user] = JSON.parse(key) as [string, string];
  const periods = new Map<number, number>();
  for (const [day, acceleratorMs] of days) {
    const period = Math.floor(day / length);
    periods.set(period, (periods.get(period) ?? 0) + acceleratorMs);
  }
  return [...periods].map(([period, acceleratorMs]) => {
    const beginMs = period * length * DAY_MS;
    return {
      account,
      user,
      fromMs: Math.max(beginMs, fromMs),
      toMs: Math.min(beginMs + length * DAY_MS, toMs),
      acceleratorMs,
    };
  });
}

const newest = (runs: readonly ImportedRunInput[], count: number): ImportedRunInput[] =>
  runs.toSorted((left, right) => left.submittedAtMs + left.tookMs - right.submittedAtMs - right.tookMs).slice(-count);

/** Jobs of Slurm's accounting. */
export class SlurmPast extends KeptRows {
  readonly work = new PastWork();

  override job(row: JobRow): void {
    super.job(row);
    const { work } = this;
    const { start, end, submit, gpus, estimated = [], charge, state, array_task: task } = row;
    if (charge?.name != null && OWN_JOB.test(charge.name)) return work.leaveOut("run by Headroom");
    if (start === null || estimated.includes("start")) return work.leaveOut("never started");
    if (end === null || estimated.includes("end")) return work.leaveOut("still running");
    if (gpus === null) return work.leaveOut("with an unknown number of GPUs");
    if (gpus === 0) return work.leaveOut("without GPUs");
    if (charge?.account == null || charge.user === null) return work.leaveOut("without an account or a user");
    const [startedAtMs, endedAtMs] = [Date.parse(start), Date.parse(end)];
    const submittedAtMs = submit === null ? startedAtMs : Date.parse(submit);
    if (submittedAtMs > startedAtMs || startedAtMs >= endedAtMs) return work.leaveOut("with times out of order");
    work.add({
      account: charge.account.slice(0, 256),
      user: charge.user.slice(0, 256),
      name: (charge.name ?? "job").slice(0, 256),
      kind: task === null ? "train" : "batch",
      accelerators: gpus,
      submittedAtMs,
      startedAtMs,
      endedAtMs,
      walltimeMs: charge.limitS === null || charge.limitS === 0 ? null : charge.limitS * 1_000,
      tellsRunTime: TELLING.has(state),
    });
  }
}
