/** Schedules that are due submit their workloads. If several due times were missed, the workload is submitted once. */
import { specDueAt, lastDueMs } from "@headroom/model";
import type { ScheduleItem } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { awaitedFirst } from "../lifecycle/apply-documents.ts";
import { recordSubmission, stopWorkload, submissionAdmissionFailure } from "../lifecycle/submit.ts";

interface Due {
  readonly item: ScheduleItem;
  readonly atMs: number;
}

/** Schedules run in the order of due times. Among equal due times, the dependencies of a workload come before it. */
export function keepSchedules(batch: Batch): void {
  const due = Array.from(batch.world.state.schedules.values(), (item): Due => ({
    item,
    atMs: lastDueMs(item.schedule.times, batch.nowMs) ?? -1,
  })).filter(({ item, atMs }) => atMs > item.lookedAtMs);
  const bySpec = new Map(due.map((each) => [each.item.schedule.spec, each]));
  const atOnce = [...Map.groupBy(due, ({ atMs }) => atMs)].toSorted(([left], [right]) => left - right);
  for (const [, together] of atOnce)
    for (const spec of awaitedFirst(together.map(({ item }) => item.schedule.spec)))
      run(batch, bySpec.get(spec) as Due);
}

function run(batch: Batch, { item, atMs: dueAtMs }: Due): void {
  const { schedule, actor } = item;
  const { name } = schedule;
  const last = item.lastWorkloadId === undefined ? undefined : batch.world.state.workloads.get(item.lastWorkloadId);
  const isRunning = last !== undefined && last.endedAtMs === null;
  const fact = { kind: "scheduleRan", version: 2, atMs: batch.nowMs, name, dueAtMs } as const;
  if (isRunning && schedule.concurrency === "forbid")
    return batch.emit({ ...fact, submittedId: null, left: "the last run has not ended" });
  const admissionFailure = submissionAdmissionFailure(batch.world, schedule.spec, batch.world.state.teams);
  if (admissionFailure !== null) return batch.emit({ ...fact, submittedId: null, left: admissionFailure.code });
  if (isRunning && schedule.concurrency === "replace") stopWorkload(batch, last.id, actor);
  batch.emit({ ...fact, submittedId: recordSubmission(batch, specDueAt(schedule, dueAtMs), actor), left: "" });
}
