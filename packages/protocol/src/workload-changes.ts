/** The answer to a change of a workload in place: each field before and after, and the effect on its expected start. */
import { z } from "zod";
import { startEstimate } from "./forecast.ts";
import { queryBoolean } from "./page.ts";

export const changeableFields = [
  "name",
  "priority",
  "walltimeMs",
  "workers",
  "minWorkers",
  "taskCount",
  "replicas",
  "scale",
  "rollout",
  "overflow",
  "budget",
  "run",
  "dir",
  "ready",
  "servedModel",
  "replicaCount",
  "hold",
  "after",
  "notBeforeMs",
  "retries",
  "env",
  "notify",
] as const;

export const changeableField = z.enum(changeableFields).meta({ id: "ChangeableField" });

export const fieldChange = z
  .object({
    field: z.string().meta({ description: "The field as in a workload file, such as `walltime` or `env.LR`." }),
    before: z.string().nullable().meta({ description: "Its value as text; null: none." }),
    after: z.string().nullable(),
  })
  .meta({ id: "FieldChange" });

export const workloadChanged = z
  .object({
    workloadId: z.string(),
    dryRun: z.boolean(),
    changes: z.array(fieldChange).meta({ description: "Empty: every field had the requested value." }),
    start: z.object({ before: startEstimate.nullable(), after: startEstimate.nullable() }).optional().meta({
      description: "With `dryRun`: the expected start without and with the changes; null: it does not wait.",
    }),
  })
  .meta({ id: "WorkloadChanged" });

export type FieldChange = z.output<typeof fieldChange>;
export type WorkloadChanged = z.output<typeof workloadChanged>;

export const changeQuery = z.strictObject({
  dryRun: queryBoolean.optional().meta({
    description: "Nothing changes; the answer shows the changes and their effect on the expected start.",
  }),
});
