/** `kind: schedule`: workloads that are submitted at recurring times. */
import { z } from "zod";
import type { FieldProblem } from "./document-problem.ts";
import { defaulted, literal, record, required, type WrittenFields } from "./encoding/field.ts";
import * as notation from "./encoding/notation.ts";
import * as limits from "./limits.ts";
import { integer } from "./limits.ts";
import * as names from "./names.ts";
import { shown } from "./notation/reading.ts";
import { cronNotation } from "./schedule-times.ts";
import { fromDueOf } from "./workload/times.ts";
import {
  batch,
  hasEnd,
  needsEnd,
  scheduledSpec,
  train,
  workloadDocument,
  workloadOf,
  type WrittenWorkload,
} from "./workload/workload.ts";
import { workloadProblems } from "./workload/workload-problems.ts";

const sinceDueMs = integer(0, limits.DURATION_MS_MAX).optional();

const fromDueSpec = z
  .strictObject({ notBeforeMs: sinceDueMs, deadlineMs: sinceDueMs, latestStartMs: sinceDueMs })
  .meta({
    id: "FromDue",
    description: "Times of the submitted workload that are relative to the time at which the schedule was due.",
  });

const submitted = z.discriminatedUnion("kind", [train.schema as never, batch.schema as never], {
  error: (issue) =>
    issue.code === "invalid_union" ? undefined : `must be a workload with its kind, got ${shown(issue.input)}`,
}) as unknown as z.ZodType<WrittenWorkload>;

/** A workload inside a schedule. In the API, its times relative to the due time are fields of the schedule. */
const workload: notation.Notation<WrittenWorkload, typeof scheduledSpec> = {
  wire: scheduledSpec,
  kind: "document of kind `train` or `batch`",
  editor: {},
  required: (hint) => submitted.meta(hint),
  optional: (hint) => submitted.nullable().meta(hint),
  toWire: workloadOf,
  toManifest: (spec) => workloadDocument(spec),
};

export const scheduleManifest = record(
  {
    kind: literal("schedule", "A schedule submits work at recurring times."),
    name: required(notation.name(names.calendarName), {
      description: "The name of the schedule, unique among schedules.",
      examples: ["nightly"],
    }),
    cron: required(cronNotation, {
      wire: "times",
      description: "Minute, hour, day of the month, month, day of the week, in UTC.",
      examples: ["0 3 * * *", "@hourly"],
    }),
    concurrency: defaulted(notation.choice(["allow", "forbid", "replace"]), "forbid", {
      description:
        "Behaviour while the last run has not ended. `allow` starts another run beside it, `forbid` skips the new run, `replace` stops the last run and starts another.",
    }),
    workload: required(workload, { wire: "spec", description: "The workload that the schedule submits." }),
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
    wire: ({ kind: _kind, ...shape }) =>
      z
        .strictObject({ ...shape, concurrency: shape.concurrency.unwrap(), fromDue: fromDueSpec.optional() })
        .refine(({ spec: { startWindow, ...spec }, fromDue: { latestStartMs, deadlineMs } = {} }) => {
          const latest = latestStartMs === undefined ? {} : { latestStartMs };
          return hasEnd({
            startWindow: startWindow && { ...startWindow, ...latest },
            deadlineMs: deadlineMs ?? spec.deadlineMs,
          });
        }, needsEnd)
        .refine(({ spec, fromDue: from = {} }) => from.latestStartMs === undefined || spec.startWindow !== undefined, {
          path: ["fromDue", "latestStartMs"],
          message: "must be left out if the work does not wait for cheap or clean power",
        })
        .refine(
          ({ fromDue: { notBeforeMs = -1, deadlineMs = Number.MAX_SAFE_INTEGER } = {} }) => deadlineMs > notBeforeMs,
          { path: ["fromDue", "deadlineMs"], message: "must be more than notBeforeMs" },
        )
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
          { path: ["fromDue"], message: "must not set a time that the workload itself sets" },
        )
        .meta({ id: "Schedule" }),
    toWire: ({ kind: _kind, ...wire }, written) => {
      const fromDue = fromDueOf(written.workload);
      return fromDue === undefined ? wire : { ...wire, fromDue };
    },
    toManifest: (written, { spec, fromDue }) => ({
      kind: "schedule",
      ...written,
      workload: workloadDocument(spec, fromDue),
    }),
  },
);
export const schedule = scheduleManifest.wire;
export type Schedule = z.output<typeof schedule>;
type WrittenSchedule = WrittenFields<typeof scheduleManifest.parts>;

export const scheduleProblems = (written: WrittenSchedule): FieldProblem[] =>
  workloadProblems(written.workload, true).map((problem) => ({ ...problem, path: ["workload", ...problem.path] }));

export const scheduleOf = (written: WrittenSchedule): Schedule => scheduleManifest.toWire(written) as Schedule;

/** Converts a schedule to the document from which reading gives the same schedule. */
export const scheduleDocument = (declared: Schedule): Record<string, unknown> =>
  scheduleManifest.toManifest(declared) as Record<string, unknown>;
