/** Schedules, by when they are due next. */
import { nextDueMs } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import type { ScheduleList } from "@headroom/protocol";
import { writeCron } from "@headroom/protocol";
import { scheduleResource } from "./wire-forms.ts";

export function scheduleList({ state }: Engine): ScheduleList {
  const items = [...state.schedules.values()].map(({ schedule, actor, lookedAtMs, lastWorkloadId }) => {
    const resource = scheduleResource(schedule);
    const last = lastWorkloadId === undefined ? {} : { lastWorkloadId };
    return {
      schedule: resource,
      cron: writeCron(resource.times),
      actor,
      nextAtMs: nextDueMs(schedule.times, lookedAtMs),
      ...last,
    };
  });
  const due = (atMs: number | null): number => atMs ?? Number.MAX_SAFE_INTEGER;
  return { items: items.toSorted((left, right) => due(left.nextAtMs) - due(right.nextAtMs)) };
}
