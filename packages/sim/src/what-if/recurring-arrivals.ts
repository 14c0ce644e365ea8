/**
 * Submissions of the recent past, which recur over the horizon of a what-if: an empty future would judge every fleet by
 * the work that is known today. They come from the state, which keeps all present and the newest ended workloads.
 */
import { commandId, submittedTaskCount } from "@headroom/model";
import type { CommandId, Workload, WorkloadSpec } from "@headroom/model";
import { ENDED_WORKLOADS_KEPT } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The shortest time after which submissions recur. A burst in the first minutes of a record says nothing of a rate. */
const PERIOD_MS_MIN = HOUR_MS;
/** Maximum number of submissions that recur in one timeline, and of their tasks: seconds of processor time. */
const ARRIVALS_MAX = 5_000;
const ARRIVING_TASKS_MAX = 20_000;

export interface RecurringSubmission {
  readonly atMs: number;
  readonly commandId: CommandId;
  readonly spec: WorkloadSpec;
  /** The recorded submission. */
  readonly original: Workload;
}

export interface RecurringArrivals {
  /** The recorded time of which the submissions recur; it ends at the beginning of the forecast. */
  readonly recordedFromMs: number;
  readonly recordedCount: number;
  /** In the order of time. */
  readonly arrivals: readonly RecurringSubmission[];
  /** End of the horizon, or the instant from which no more submissions recur because there are too many. */
  readonly untilMs: number;
}

interface Span {
  readonly nowMs: number;
  readonly horizonMs: number;
}

export function recurringArrivals(state: ReadonlyState, { nowMs, horizonMs }: Span): RecurringArrivals {
  const submitted = submittedWork(state);
  const knownFromMs = Math.max(completeFromMs(state), submitted[0]?.submittedAtMs ?? nowMs);
  const periodMs = periodOf(nowMs - knownFromMs, horizonMs);
  const recordedFromMs = nowMs - periodMs;
  const recorded = submitted.filter(({ submittedAtMs }) => submittedAtMs > recordedFromMs && submittedAtMs <= nowMs);
  const endMs = nowMs + horizonMs;
  const arrivals: RecurringSubmission[] = [];
  let taskCount = 0;
  for (let shiftMs = periodMs; recorded.length > 0 && recordedFromMs + shiftMs < endMs; shiftMs += periodMs) {
    for (const original of recorded) {
      const atMs = original.submittedAtMs + shiftMs;
      if (atMs > endMs) break;
      taskCount += submittedTaskCount(original.spec);
      if (arrivals.length === ARRIVALS_MAX || taskCount > ARRIVING_TASKS_MAX)
        return { recordedFromMs, recordedCount: recorded.length, arrivals, untilMs: atMs };
      const spec = shifted(original.spec, shiftMs);
      arrivals.push({ atMs, commandId: commandId(`recurs-${arrivals.length}`), spec, original });
    }
  }
  return { recordedFromMs, recordedCount: recorded.length, arrivals, untilMs: endMs };
}

/**
 * Time after which submissions recur. With a day or more on record, whole days that cover the horizon, so that each hour
 * and each day of the week has its own submissions; else just longer than the record, whose first submission is in it.
 */
function periodOf(recordMs: number, horizonMs: number): number {
  const days = Math.floor(recordMs / DAY_MS);
  if (days === 0) return Math.max(PERIOD_MS_MIN, recordMs + 1);
  return DAY_MS * Math.min(days, Math.ceil(horizonMs / DAY_MS));
}

/** Submissions by users, in the order of time. Schedules submit their work in the forecast by themselves. */
function submittedWork({ workloads, schedules }: ReadonlyState): readonly Workload[] {
  const scheduled = new Set([...schedules.values()].map(({ schedule: { spec }, actor }) => keyOf(spec, actor)));
  return [...workloads.values()]
    .filter(({ spec, actor, phase, firstStartedAtMs }) => {
      const wasWithdrawn = phase === "cancelled" && firstStartedAtMs === null;
      return !wasWithdrawn && !scheduled.has(keyOf(spec, actor));
    })
    .toSorted((left, right) => left.submittedAtMs - right.submittedAtMs || left.ordinal - right.ordinal);
}

const keyOf = ({ team, name }: WorkloadSpec, actor: string): string => `${team} ${actor} ${name}`;

/**
 * The instant since which the state has every submission. A workload that is no longer kept ended before all ended ones
 * that are.
 */
function completeFromMs({ workloads, endedCount }: ReadonlyState): number {
  if (endedCount <= ENDED_WORKLOADS_KEPT) return Number.NEGATIVE_INFINITY;
  let oldestEndMs = Number.POSITIVE_INFINITY;
  for (const { endedAtMs } of workloads.values())
    if (endedAtMs !== null && endedAtMs < oldestEndMs) oldestEndMs = endedAtMs;
  return oldestEndMs;
}

/**
 * The spec of the recurring submission. Times move with the submission. Dependencies and a hold are left out: they refer
 * to work and to a user of the past.
 */
function shifted({ after: _after, hold: _hold, ...spec }: WorkloadSpec, shiftMs: number): WorkloadSpec {
  const { notBeforeMs, deadlineMs, startWindow } = spec;
  const latestStartMs = startWindow?.latestStartMs;
  return {
    ...spec,
    ...(notBeforeMs === undefined ? {} : { notBeforeMs: notBeforeMs + shiftMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs: deadlineMs + shiftMs }),
    ...(latestStartMs === undefined ? {} : { startWindow: { ...startWindow, latestStartMs: latestStartMs + shiftMs } }),
  };
}
