import type { ScheduleEvent } from "../contract/events.ts";
import { SCHEDULE_RUNS_KEPT } from "../model/schedule.ts";
import type { ScheduleItem, ScheduleRun } from "../model/schedule.ts";
import { invariant } from "../base/invariant.ts";
import { unreachable } from "../base/unreachable.ts";
import { waitForSchedule } from "../cluster/world.ts";
import type { WritableWorld } from "./writable.ts";

/** First version of `scheduleRan` from which the last runs are kept. Older events give the same state as before. */
const RUNS_KEPT_FROM = 2;

export function applyScheduleEvent(world: WritableWorld, event: ScheduleEvent): void {
  const { schedules } = world.state;
  switch (event.kind) {
    case "scheduleSet": {
      const { schedule, actor, atMs } = event;
      const { lastWorkloadId, runs } = schedules.get(schedule.name) ?? {};
      const decayedUsage = {
        ...(lastWorkloadId === undefined ? {} : { lastWorkloadId }),
        ...(runs === undefined ? {} : { runs }),
      };
      const item = { schedule, actor, lookedAtMs: atMs, ...decayedUsage };
      schedules.set(schedule.name, item);
      return waitForSchedule(world, item);
    }
    case "scheduleRemoved":
      schedules.delete(event.name);
      return;
    case "scheduleRan": {
      const item = schedules.get(event.name);
      invariant(item !== undefined, `there is no schedule ${event.name}`);
      const ran = event.submittedId === null ? {} : { lastWorkloadId: event.submittedId };
      const runs = event.version >= RUNS_KEPT_FROM ? { runs: withRun(item, event) } : {};
      const next = { ...item, lookedAtMs: event.atMs, ...ran, ...runs };
      schedules.set(event.name, next);
      return waitForSchedule(world, next);
    }
    default:
      unreachable(event);
  }
}

function withRun(
  { runs = [] }: ScheduleItem,
  { dueAtMs, atMs, submittedId, left }: ScheduleEvent & { readonly kind: "scheduleRan" },
): readonly ScheduleRun[] {
  return [...runs, { dueAtMs, atMs, workloadId: submittedId, left }].slice(-SCHEDULE_RUNS_KEPT);
}
