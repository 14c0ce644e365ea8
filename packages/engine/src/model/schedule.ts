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

export interface Schedule {
  readonly name: string;
  readonly times: ScheduleTimes;
  readonly spec: WorkloadSpec;
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
}
