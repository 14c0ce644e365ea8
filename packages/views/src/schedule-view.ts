/** Schedules by next due time, with the results of the last runs. */
import { nextDueMs } from "@headroom/model";
import type { ScheduleTimes } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import type { Schedule, ScheduleItem, ScheduleList } from "@headroom/protocol";
import { writeCron } from "@headroom/protocol";
import { durationText } from "./plain-text.ts";
import { isReadable, type ReadableTeams } from "./readable-teams.ts";
import { scheduleResource } from "./wire-forms.ts";

const NEXT_SHOWN = 5;

export function scheduleList({ state }: Engine, readable: ReadableTeams = null): ScheduleList {
  const shown = [...state.schedules.values()].filter(({ schedule }) => isReadable(readable, schedule.spec.team));
  const items = shown.map(({ schedule, actor, lookedAtMs, lastWorkloadId, runs = [] }) => {
    const resource = scheduleResource(schedule);
    const last = lastWorkloadId === undefined ? {} : { lastWorkloadId };
    const nextAtsMs = nextTimes(schedule.times, lookedAtMs);
    return {
      schedule: resource,
      cron: writeCron(resource.times),
      actor,
      nextAtMs: nextAtsMs[0] ?? null,
      nextAtsMs,
      runs: runs.toReversed().map((run): ScheduleItem["runs"][number] => {
        const phase = run.workloadId === null ? undefined : state.workloads.get(run.workloadId)?.phase;
        return phase === undefined ? { ...run } : { ...run, phase };
      }),
      ...last,
    };
  });
  const due = (atMs: number | null): number => atMs ?? Number.MAX_SAFE_INTEGER;
  return { items: items.toSorted((left, right) => due(left.nextAtMs) - due(right.nextAtMs)) };
}

function nextTimes(times: ScheduleTimes, afterMs: number): number[] {
  const found: number[] = [];
  for (let at = nextDueMs(times, afterMs); at !== null && found.length < NEXT_SHOWN; at = nextDueMs(times, at))
    found.push(at);
  return found;
}

/**
 * Text such as `From when it was due: not started before 1 h, wanted done within 8 h.`; `null`: no instant is relative
 * to the due time.
 */
export function fromDueSentence(fromDue: Schedule["fromDue"]): string | null {
  const { notBeforeMs, latestStartMs, deadlineMs } = fromDue ?? {};
  const terms = [
    ...(notBeforeMs === undefined ? [] : [`not started before ${durationText(notBeforeMs)}`]),
    ...(latestStartMs === undefined ? [] : [`started at the latest after ${durationText(latestStartMs)}`]),
    ...(deadlineMs === undefined ? [] : [`due within ${durationText(deadlineMs)}`]),
  ];
  return terms.length === 0 ? null : `After the due time: ${terms.join(", ")}.`;
}
