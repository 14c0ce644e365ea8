/** Schedules that are due submit their work. What was missed while nothing ran is made up for once, whatever was missed. */
import type { Batch } from "../batch.ts";
import { recordSubmission, stopWorkload, submissionObjection } from "../decide/submit.ts";
import type { ScheduleItem } from "../model/schedule.ts";
import { lastDueMs } from "../recurrence/due.ts";

export function keepSchedules(batch: Batch): void {
  for (const item of Array.from(batch.world.state.schedules.values())) {
    const dueAtMs = lastDueMs(item.schedule.times, batch.nowMs);
    if (dueAtMs !== null && dueAtMs > item.lookedAtMs) run(batch, item, dueAtMs);
  }
}

function run(batch: Batch, item: ScheduleItem, dueAtMs: number): void {
  const { schedule, actor } = item;
  const { name } = schedule;
  const last = item.lastWorkloadId === undefined ? undefined : batch.world.state.workloads.get(item.lastWorkloadId);
  const isRunning = last !== undefined && last.endedAtMs === null;
  const fact = { kind: "scheduleRan", version: 2, atMs: batch.nowMs, name, dueAtMs } as const;
  if (isRunning && schedule.concurrency === "forbid")
    return batch.emit({ ...fact, submittedId: null, left: "the last run has not ended" });
  const objection = submissionObjection(batch.world, schedule.spec, batch.world.state.teams);
  if (objection !== null) return batch.emit({ ...fact, submittedId: null, left: objection.code });
  if (isRunning && schedule.concurrency === "replace") stopWorkload(batch, last.id, actor);
  batch.emit({ ...fact, submittedId: recordSubmission(batch, schedule.spec, actor), left: "" });
}
