/** Changes of a submitted workload in place (`PATCH /v1/workloads/{id}`), with the rules of the fields themselves. */
import { z } from "zod";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { replicaRange } from "./serving.ts";
import { batch, serve, train } from "./workload.ts";

const { dir, run, name, priority, walltimeMs, retries, after, notBeforeMs, notify } = train.wire.shape;
const { max, backoffMs, backoffMaxMs } = retries.unwrap().shape;
const { taskCount: tasks } = batch.wire.shape;
const { budget, overflow, ready, rollout, scale, servedModel } = serve.wire.shape;
const size = z.int().min(1).max(limits.WORKERS_MAX);

/** The fields that change. A field that is left out stays; `null` removes a value. */
export const workloadChanges = z
  .strictObject({
    name: name.optional(),
    priority: priority.unwrap().optional(),
    walltimeMs: walltimeMs.unwrap().optional(),
    workers: size.optional().meta({ description: "Number of workers, or the maximum of an elastic gang." }),
    minWorkers: size.nullable().optional().meta({ description: "Minimum of an elastic gang; null: not elastic." }),
    hold: z.boolean().optional().meta({ description: "Whether the workload is held." }),
    after: after.unwrap().nullable().optional(),
    notBeforeMs: notBeforeMs.unwrap().nullable().optional(),
    notify: notify.unwrap().nullable().optional(),
    retries: z
      .strictObject({
        max: max.unwrap().optional(),
        backoffMs: backoffMs.unwrap().optional(),
        backoffMaxMs: backoffMaxMs.unwrap().optional(),
      })
      .optional(),
    taskCount: tasks.optional().meta({ description: "Number of tasks of an array. It only grows." }),
    replicas: replicaRange.optional().meta({ description: "Bounds of the number of replicas of an endpoint." }),
    scale: scale.unwrap().nullable().optional().meta({
      description: "Targets by which the number of replicas follows traffic; null: commands alone change it.",
    }),
    rollout: rollout.unwrap().nullable().optional().meta({
      description: "Steps of rollouts of an endpoint; null: replicas are replaced one after another.",
    }),
    overflow: overflow.unwrap().nullable().optional().meta({
      description: "Where requests of an endpoint go while its replicas are saturated; null: nowhere.",
    }),
    budget: budget.unwrap().nullable().optional().meta({
      description: "Money of an endpoint for each day or month; null: the budgets of its team alone.",
    }),
    run: run.optional().meta({ description: "Command of an endpoint. A rollout changes it." }),
    dir: dir.unwrap().optional().meta({ description: "Working directory of an endpoint. A rollout changes it." }),
    ready: ready.unwrap().optional().meta({ description: "Readiness of an endpoint. A rollout changes it." }),
    servedModel: servedModel.unwrap().nullable().optional().meta({
      description: "Model of an endpoint, or an artifact; null: the name of the workload. A rollout changes it.",
    }),
    replicaCount: z
      .int()
      .min(0)
      .max(limits.REPLICAS_MAX)
      .optional()
      .meta({ description: "Number of replicas of an endpoint, within its bounds." }),
    env: z
      .record(names.environmentName, names.environmentValue.nullable())
      .refine((entries) => Object.keys(entries).length <= limits.ENVIRONMENT_ENTRIES_MAX, {
        message: `must have at most ${limits.ENVIRONMENT_ENTRIES_MAX} entries`,
      })
      .optional()
      .meta({ description: "Variables of the next attempts; null removes a variable, others stay." }),
  })
  .refine((changes) => Object.keys(changes).length > 0, { message: "must change at least one field" })
  .meta({ id: "WorkloadChanges" });

export type WorkloadChangesBody = z.output<typeof workloadChanges>;

/** The changes as the journal records them, with complete values. */
export const recordedChanges = z
  .object({
    name: z.string().optional(),
    priority: z.int().optional(),
    walltimeMs: z.int().nullable().optional(),
    retries: z.object({ max: z.int(), backoffMs: z.int(), backoffMaxMs: z.int() }).optional(),
    env: z.record(z.string(), z.string().nullable()).optional(),
    hold: z.boolean().optional(),
    after: batch.wire.shape.after.unwrap().optional(),
    notBeforeMs: z.int().nullable().optional(),
    workers: z.int().optional(),
    minWorkers: z.int().nullable().optional(),
    notify: notify.unwrap().nullable().optional(),
    taskCount: z.int().optional(),
    replicas: replicaRange.optional(),
    scale: scale.unwrap().nullable().optional(),
    budget: budget.unwrap().nullable().optional(),
    rollout: rollout.unwrap().nullable().optional(),
    overflow: overflow.unwrap().nullable().optional(),
  })
  .meta({ id: "RecordedChanges" });
