/** Allocated accelerator time by cause. The causes of a line add up to its allocated time exactly. */
import { z } from "zod";
import { instantMs } from "@headroom/spec";
import { metricsQuery } from "./metrics.ts";
import { operation } from "./operation.ts";

const causeGroup = z.enum(["team", "pool", "acceleratorType", "workload", "workloadKind"]);

/** Most lines of an answer. */
export const CAUSE_LINES_MAX = 2_000;

export const causeHoursQuery = metricsQuery.pick({ fromMs: true, toMs: true }).extend({
  group: causeGroup.optional().meta({ description: "Field by which lines are made. Absent: one line." }),
});

const amount = {
  acceleratorMs: z
    .string()
    .meta({ description: "Accelerator-milliseconds, exact, as a decimal number. For example `3600000.5`." }),
  hours: z.number().meta({ description: "The same in accelerator-hours, rounded." }),
};

const hourCause = z
  .enum(["compute", "communication", "io", "unmeasured", "idle", "failure", "restart", "waiting"])
  .meta({
    description:
      "`compute`, `communication`, `io`: used, divided by the measured parts of a step. `unmeasured`: used, not divided. `failure`: lost through the work or the fleet. `restart`: lost through evictions, and starts of later attempts. `waiting`: held during the first start or a back-off.",
  });

const causeLine = z
  .object({
    group: z.string().meta({ description: "The value of the field; empty without a field." }),
    allocated: z.object(amount),
    causes: z
      .array(z.object({ cause: hourCause, ...amount }))
      .meta({ description: "They add up to `allocated` exactly." }),
  })
  .meta({ id: "CauseLine" });

export const causeHours = z
  .object({
    fromMs: instantMs,
    toMs: instantMs,
    group: causeGroup.nullable(),
    items: z
      .array(causeLine)
      .max(CAUSE_LINES_MAX)
      .meta({ description: "Most allocated time first. The last of 2,000 is `(others)`: those that have no line." }),
    total: causeLine,
    unallocated: z.array(z.object({ reason: z.string(), ...amount })).meta({
      description:
        "Time of accelerators that no work held, by reason: `free`, `hotSpare`, `drained`, `nodeLost`, `foreignWork`. Empty for readers of some teams.",
    }),
    attempts: z.int().meta({ description: "Attempts with used time." }),
    measuredAttempts: z.int().meta({ description: "Those with a measurement that divides it." }),
    problems: z.array(z.string()),
    answeredAtMs: instantMs,
  })
  .meta({ id: "CauseHours" });

export type CauseHours = z.output<typeof causeHours>;
export type CauseHoursQuery = z.output<typeof causeHoursQuery>;

export const causeHoursOperation = operation(
  "GET /v1/health/hours",
  "Allocated accelerator time by cause, by default of the last seven days: compute, communication, I/O, idle, failure, restart, waiting",
  causeHours,
  {
    permission: "workloads.read",
    subject: "teams",
    query: causeHoursQuery,
    problems: ["overloaded", "tookTooLong"],
  },
);
