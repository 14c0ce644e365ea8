/** Work that is submitted at recurring times (UTC). */
import type { WorkloadId } from "./ids.ts";
import type { WorkloadSpec } from "./workload.ts";

/** A parsed cron expression: the instants whose minute, hour, month and day are all in these ascending lists. */
export interface ScheduleTimes {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /**
   * Days from 1 to 31. If both this list and `daysOfWeek` are restricted, a day that is in either list counts, as in
   * cron.
   */
  readonly daysOfMonth: readonly number[];
  readonly months: readonly number[];
  /** 0 (Sunday) to 6. */
  readonly daysOfWeek: readonly number[];
}

/** Times of the submitted spec, in ms after the due time. */
export interface FromDue {
  readonly notBeforeMs?: number;
  readonly deadlineMs?: number;
  /** Latest start, for work with a start window. */
  readonly latestStartMs?: number;
}

export interface Schedule {
  readonly name: string;
  readonly times: ScheduleTimes;
  /** Spec of every submission. Times that are relative to the due time are in `fromDue` instead. */
  readonly spec: WorkloadSpec;
  readonly fromDue?: FromDue;
  /**
   * Action if the previous run has not ended. `allow`: another run is submitted. `forbid`: the due time is skipped.
   * `replace`: the previous run is stopped.
   */
  readonly concurrency: "allow" | "forbid" | "replace";
}

/** A schedule and its state. */
export interface ScheduleItem {
  readonly schedule: Schedule;
  /** The user who declared the schedule and submits its workloads. */
  readonly actor: string;
  /** All due times up to this instant have been handled. */
  readonly lookedAtMs: number;
  readonly lastWorkloadId?: WorkloadId;
  /** The newest due times, oldest first, at most `SCHEDULE_RUNS_KEPT`. Absent: no due time has been handled. */
  readonly runs?: readonly ScheduleRun[];
}

export interface ScheduleRun {
  readonly dueAtMs: number;
  /** Time at which the engine handled the due time. It is later than the due time if the control plane was down. */
  readonly atMs: number;
  /** The submitted workload, or `null` if no workload was submitted. */
  readonly workloadId: WorkloadId | null;
  /** Reason why no workload was submitted; `""` if one was. */
  readonly left: string;
}

/** Seven runs are a week of a nightly schedule. */
export const SCHEDULE_RUNS_KEPT = 7;

/** The workload spec that is submitted for a due time. */
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
