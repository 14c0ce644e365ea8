/** Schedules: work that is submitted again and again. Declared with `apply`. */
import { z } from "zod";
import * as limits from "./limits.ts";
import { instantMs, integer } from "./limits.ts";
import * as names from "./names.ts";
import { workloadPhase } from "./workload.ts";
import { hasEnd, needsEnd, scheduledSpec } from "./workload-spec.ts";

const ascending = (from: number, to: number) =>
  z
    .array(integer(from, to))
    .min(1)
    .refine((list) => list.every((each, index) => index === 0 || each > (list[index - 1] ?? each)), {
      message: "must be in ascending order, each once",
    });

export const scheduleTimes = z
  .strictObject({
    minutes: ascending(0, 59).meta({ description: "Of the hour." }),
    hours: ascending(0, 23).meta({ description: "Of the day, in UTC." }),
    daysOfMonth: ascending(1, 31).meta({ description: "1 is the first." }),
    months: ascending(1, 12).meta({ description: "1 is January." }),
    daysOfWeek: ascending(0, 6).meta({ description: "0 is Sunday." }),
  })
  .meta({
    id: "ScheduleTimes",
    description:
      "A cron expression, read, in UTC. Where days of the month and of the week both leave something out, either counts.",
  });

const sinceDueMs = integer(0, limits.DURATION_MS_MAX).optional();

const fromDue = z
  .strictObject({ notBeforeMs: sinceDueMs, deadlineMs: sinceDueMs, latestStartMs: sinceDueMs })
  .meta({ id: "FromDue", description: "Instants of what is submitted that count from when it was due." });

export const schedule = z
  .strictObject({
    name: names.calendarName,
    times: scheduleTimes,
    spec: scheduledSpec,
    fromDue: fromDue.optional(),
    concurrency: z.enum(["allow", "forbid", "replace"]).meta({
      description: "While its last run has not ended: another beside it, none, or another after stopping that one.",
    }),
  })
  .refine(({ spec: { startWindow, ...spec }, fromDue: { latestStartMs, deadlineMs } = {} }) => {
    const latest = latestStartMs === undefined ? {} : { latestStartMs };
    return hasEnd({
      startWindow: startWindow && { ...startWindow, ...latest },
      deadlineMs: deadlineMs ?? spec.deadlineMs,
    });
  }, needsEnd)
  .refine(({ spec, fromDue: from = {} }) => from.latestStartMs === undefined || spec.startWindow !== undefined, {
    path: ["fromDue", "latestStartMs"],
    message: "must be left out of work that does not wait for cheap or clean power",
  })
  .refine(({ fromDue: { notBeforeMs = -1, deadlineMs = Number.MAX_SAFE_INTEGER } = {} }) => deadlineMs > notBeforeMs, {
    path: ["fromDue", "deadlineMs"],
    message: "must be more than notBeforeMs",
  })
  .refine(
    ({ spec, fromDue: from = {} }) => {
      const { notBeforeMs, deadlineMs, startWindow } = spec;
      const both = [
        [notBeforeMs, from.notBeforeMs],
        [deadlineMs, from.deadlineMs],
        [startWindow?.latestStartMs, from.latestStartMs],
      ];
      return both.every((pair) => pair.includes(undefined));
    },
    { path: ["fromDue"], message: "must not say again what the work says itself" },
  )
  .meta({ id: "Schedule" });

const scheduleRun = z
  .object({
    dueAtMs: instantMs,
    atMs: instantMs.meta({ description: "When it was seen to; later than due where nothing ran then." }),
    workloadId: z.string().nullable().meta({ description: "What was submitted; null: nothing." }),
    left: z.string().meta({ description: "Why nothing was submitted." }),
    phase: workloadPhase.optional().meta({ description: "Of what was submitted; absent: it is not kept any more." }),
  })
  .meta({ id: "ScheduleRun" });

export const scheduleItem = z
  .object({
    schedule,
    cron: z.string(),
    actor: z.string().meta({ description: "Who declared it: the runs are theirs." }),
    nextAtMs: instantMs.nullable(),
    nextAtsMs: z.array(instantMs).meta({ description: "The next times at which it is due, at most five." }),
    runs: z.array(scheduleRun).meta({ description: "The last times at which it was due, the newest first." }),
    lastWorkloadId: z.string().optional(),
  })
  .meta({ id: "ScheduleItem" });

export const scheduleList = z.object({ items: z.array(scheduleItem) }).meta({ id: "ScheduleList" });
export const scheduleRemoved = z.object({ name: z.string() }).meta({ id: "ScheduleRemoved" });

export type ScheduleTimes = z.output<typeof scheduleTimes>;
export type ScheduleItem = z.output<typeof scheduleItem>;
export type Schedule = z.output<typeof schedule>;
export type ScheduleList = z.output<typeof scheduleList>;
export type ScheduleRemoved = z.output<typeof scheduleRemoved>;
