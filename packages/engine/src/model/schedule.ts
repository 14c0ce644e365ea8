/** Work that is submitted again and again, at times of the clock in UTC. */
import type { WorkloadId } from "./ids.ts";
import type { WorkloadSpec } from "./workload.ts";

/** A parsed cron expression: the instants whose minute, hour, month and day are all in these ascending lists. */
export interface ScheduleTimes {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** 1 to 31. If both this and `daysOfWeek` are restricted, a day in either of them counts, as in cron. */
  readonly daysOfMonth: readonly number[];
  /** 1 to 12. */
  readonly months: readonly number[];
  /** 0 (Sunday) to 6. */
  readonly daysOfWeek: readonly number[];
}

/** Instants of the submitted work relative to the due time, in milliseconds. */
export interface FromDue {
  readonly notBeforeMs?: number;
  readonly deadlineMs?: number;
  /** Latest start of work with a start window. */
  readonly latestStartMs?: number;
}

export interface Schedule {
  readonly name: string;
  readonly times: ScheduleTimes;
  /** Its instants are the same for all that is submitted; those that are not are in `fromDue`. */
  readonly spec: WorkloadSpec;
  readonly fromDue?: FromDue;
  /** While its last run has not ended: submit another, skip this one, or stop the last one. */
  readonly concurrency: "allow" | "forbid" | "replace";
}

/** A schedule with what became of it. */
export interface ScheduleItem {
  readonly schedule: Schedule;
  /** The user who declared it, and owns its runs. */
  readonly actor: string;
  /** Everything due until then has been handled. */
  readonly lookedAtMs: number;
  readonly lastWorkloadId?: WorkloadId;
  /** The newest times at which it was due, the oldest first, at most `SCHEDULE_RUNS_KEPT`; absent: none that was kept. */
  readonly runs?: readonly ScheduleRun[];
}

/** Result of a due time. */
export interface ScheduleRun {
  readonly dueAtMs: number;
  /** When the engine saw to it; later than it was due where nothing ran then. */
  readonly atMs: number;
  /** The submitted workload; `null`: none. */
  readonly workloadId: WorkloadId | null;
  /** Why nothing was submitted; `""` where something was. */
  readonly left: string;
}

/** A working week and the weekend of a nightly run. */
export const SCHEDULE_RUNS_KEPT = 7;

/** The submission for a due time. */
export function specDueAt({ spec, fromDue = {} }: Schedule, dueAtMs: number): WorkloadSpec {
  const { notBeforeMs, deadlineMs, latestStartMs } = fromDue;
  return {
    ...spec,
    ...(notBeforeMs === undefined ? {} : { notBeforeMs: dueAtMs + notBeforeMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs: dueAtMs + deadlineMs }),
    ...(latestStartMs === undefined
      ? {}
      : { startWindow: { ...spec.startWindow, latestStartMs: dueAtMs + latestStartMs } }),
  };
}
