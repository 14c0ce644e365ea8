/** Work that is submitted again and again, at times of the clock in UTC. */
import type { WorkloadId } from "./ids.ts";
import type { WorkloadSpec } from "./workload.ts";

/** A cron expression, read: the instants whose minute, hour, month and day are all in these lists, each in ascending order. */
export interface ScheduleTimes {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** 1 to 31. Where this and `daysOfWeek` both leave something out, a day in either of them counts, as in cron. */
  readonly daysOfMonth: readonly number[];
  /** 1 to 12. */
  readonly months: readonly number[];
  /** 0 (Sunday) to 6. */
  readonly daysOfWeek: readonly number[];
}

/** Instants of what is submitted that count from when it was due, in milliseconds after that. */
export interface FromDue {
  readonly notBeforeMs?: number;
  readonly deadlineMs?: number;
  /** Of work that waits for cheap or clean power. */
  readonly latestStartMs?: number;
}

export interface Schedule {
  readonly name: string;
  readonly times: ScheduleTimes;
  /** Its instants are the same for all that is submitted; those that are not are in `fromDue`. */
  readonly spec: WorkloadSpec;
  readonly fromDue?: FromDue;
  /** While its last run has not ended: another is submitted beside it, it is left out, or the last one is stopped for it. */
  readonly concurrency: "allow" | "forbid" | "replace";
}

/** A schedule with what became of it. */
export interface ScheduleItem {
  readonly schedule: Schedule;
  /** Who declared it: the runs are theirs. */
  readonly actor: string;
  /** What was due until then has been dealt with. */
  readonly lookedAtMs: number;
  readonly lastWorkloadId?: WorkloadId;
  /** The newest times at which it was due, the oldest first, at most `SCHEDULE_RUNS_KEPT`; absent: none that was kept. */
  readonly runs?: readonly ScheduleRun[];
}

/** What came of a time at which a schedule was due. */
export interface ScheduleRun {
  readonly dueAtMs: number;
  /** When the engine saw to it; later than it was due where nothing ran then. */
  readonly atMs: number;
  /** What was submitted; `null`: nothing. */
  readonly workloadId: WorkloadId | null;
  /** Why nothing was submitted; `""` where something was. */
  readonly left: string;
}

/** A working week and the weekend of a nightly run. */
export const SCHEDULE_RUNS_KEPT = 7;

/** What a schedule submits for a time at which it was due. */
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
