import { SCHEDULE_RUNS_KEPT, invariant } from "@headroom/model";
import type { ScheduleEvent, ScheduleItem } from "@headroom/model";
import { waitForSchedule } from "../cluster/world.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

/** First version of `scheduleRan` from which the last runs are kept. Older events give the same state as before. */
const RUNS_KEPT_FROM = 2;

export const scheduleEvents: Appliers<ScheduleEvent> = {
  scheduleSet(world, { schedule, actor, atMs }) {
    const { lastWorkloadId, runs } = world.state.schedules.get(schedule.name) ?? {};
    store(world, {
      schedule,
      actor,
      lookedAtMs: atMs,
      ...(lastWorkloadId === undefined ? {} : { lastWorkloadId }),
      ...(runs === undefined ? {} : { runs }),
    });
  },
  scheduleRemoved({ state: { schedules } }, { name }) {
    schedules.delete(name);
  },
  scheduleRan(world, { name, version, dueAtMs, atMs, submittedId, left }) {
    const item = world.state.schedules.get(name);
    invariant(item !== undefined, `there is no schedule ${name}`);
    const { runs = [] } = item;
    const run = { dueAtMs, atMs, workloadId: submittedId, left };
    store(world, {
      ...item,
      lookedAtMs: atMs,
      ...(submittedId === null ? {} : { lastWorkloadId: submittedId }),
      ...(version >= RUNS_KEPT_FROM ? { runs: [...runs, run].slice(-SCHEDULE_RUNS_KEPT) } : {}),
    });
  },
};

function store(world: WritableWorld, item: ScheduleItem): void {
  world.state.schedules.set(item.schedule.name, item);
  waitForSchedule(world, item);
}
