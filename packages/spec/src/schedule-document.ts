/** `kind: schedule`: work that is submitted at times of the clock. */
import { z } from "zod";
import * as names from "./names.ts";
import type { Schedule } from "./schedule-spec.ts";
import { readCron, writeCron } from "./notation/cron.ts";
import { fields, leaf, optionalLeaf, readChoice, readName } from "./field.ts";
import type { FieldProblem } from "./placement-fields.ts";
import { shown, type Reading } from "./notation/reading.ts";
import { fromDueOf } from "./time-fields.ts";
import { batchSchema, trainSchema, workloadDocument, workloadOf, workloadProblems } from "./workload-document.ts";

const choices = ["allow", "forbid", "replace"] as const;

export const scheduleSchema = fields(
  {
    kind: z.literal("schedule").meta({ description: "Work that is submitted at times of the clock." }),
    name: leaf({ description: "Unique among schedules.", type: "string", examples: ["nightly"] }, (value) =>
      readName(value, names.calendarName),
    ),
    cron: leaf(
      {
        description: "Minute, hour, day of the month, month, day of the week, in UTC.",
        type: "string",
        examples: ["0 3 * * *", "@hourly"],
      },
      readCron,
    ),
    concurrency: optionalLeaf(
      {
        description: "While the last run has not ended: another beside it, none, or another after stopping that one.",
        enum: [...choices],
        default: "forbid",
      },
      "forbid" as const,
      (value): Reading<(typeof choices)[number]> => readChoice(value, choices),
    ),
    workload: z
      .discriminatedUnion("kind", [trainSchema, batchSchema], {
        error: (issue) =>
          issue.code === "invalid_union" ? undefined : `must be a workload with its kind, got ${shown(issue.input)}`,
      })
      .meta({ description: "What is submitted: a document of kind train or batch." }),
  },
  {
    meant: {
      schedule: "cron",
      at: "cron",
      every: "cron",
      concurrencyPolicy: "concurrency",
      spec: "workload",
      job: "workload",
    },
  },
);

type WrittenSchedule = z.output<typeof scheduleSchema>;

export const scheduleProblems = ({ workload }: WrittenSchedule): FieldProblem[] =>
  workloadProblems(workload, true).map((problem) => ({ ...problem, path: ["workload", ...problem.path] }));

export function scheduleOf({ name, cron, concurrency, workload }: WrittenSchedule): Schedule {
  const fromDue = fromDueOf(workload);
  const spec = workloadOf(workload);
  return { name, times: cron, spec, ...(fromDue === undefined ? {} : { fromDue }), concurrency };
}

/** The document that reads back as this schedule. */
export const scheduleDocument = ({ name, times, spec, fromDue, concurrency }: Schedule): Record<string, unknown> => ({
  kind: "schedule",
  name,
  cron: writeCron(times),
  concurrency,
  workload: workloadDocument(spec, fromDue),
});
