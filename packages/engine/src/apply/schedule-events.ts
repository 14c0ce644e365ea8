import type { ScheduleEvent } from "../events.ts";
import { invariant } from "../state/invariant.ts";
import { unreachable } from "../state/unreachable.ts";
import { waitForSchedule } from "../state/world.ts";
import type { World } from "../state/world.ts";

export function applyScheduleEvent(world: World, event: ScheduleEvent): void {
  const { schedules } = world.state;
  switch (event.kind) {
    case "scheduleSet": {
      const { schedule, actor, atMs } = event;
      const last = schedules.get(schedule.name)?.lastWorkloadId;
      const item = { schedule, actor, lookedAtMs: atMs, ...(last === undefined ? {} : { lastWorkloadId: last }) };
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
      const next = { ...item, lookedAtMs: event.atMs, ...ran };
      schedules.set(event.name, next);
      return waitForSchedule(world, next);
    }
    default:
      unreachable(event);
  }
}
