/** Schedules as they are declared: work that is submitted again and again. */
import { z } from "zod";
import * as limits from "./limits.ts";
import { integer } from "./limits.ts";
import * as names from "./names.ts";
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

export type ScheduleTimes = z.output<typeof scheduleTimes>;
export type Schedule = z.output<typeof schedule>;
