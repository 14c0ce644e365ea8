/** Executors: the one of the control plane's machine, and those that operators declare. */
import { z } from "zod";
import { count, instantMs, names } from "@headroom/spec";

export const executorModes = ["run", "follow"] as const;
export const executorPhases = ["configured", "reachable", "unreachable", "removed"] as const;

/** A declaration has a few scalar settings; the type checks them. */
const SETTINGS_MAX = 64;
const settingName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,62}$/, "must be letters, digits and '_'");
const settingText = z.string().max(4_096);
const setting = z.union([
  z.boolean(),
  z.number(),
  settingText,
  z.array(settingText).max(1_000),
  z.record(settingName, settingText),
]);

export const executorSettings = z
  .record(settingName, setting)
  .refine((settings) => Object.keys(settings).length <= SETTINGS_MAX, {
    message: `must have at most ${SETTINGS_MAX} entries`,
  })
  .meta({
    description: "Settings of the type. A secret is a reference: `file:/path` or `env:NAME`.",
  });

export const executorPhase = z.enum(executorPhases).meta({
  id: "ExecutorPhase",
  description:
    "`configured`: it is declared and has not answered yet; `reachable`: it answers; `unreachable`: it does not answer, or not completely; `removed`: it is no longer declared. Attempts and nodes of an executor that is not reachable stay as recorded.",
});

export const executor = z
  .object({
    name: z.string(),
    type: z.string().meta({ description: "The type of a declared executor, or else its kind." }),
    mode: z.enum(executorModes),
    isDeclared: z.boolean().meta({ description: "False: the executor of the control plane's machine." }),
    phase: executorPhase,
    sinceMs: instantMs.optional().meta({ description: "Start of the phase; absent: the start of the control plane." }),
    reason: z.string().optional().meta({ description: "Why the executor is unreachable." }),
    settings: z.record(z.string(), z.unknown()),
    pools: z.array(z.string()),
    nodes: count,
    accelerators: count,
    attempts: count.meta({ description: "Attempts that hold places on its nodes." }),
  })
  .meta({ id: "Executor" });

export const executorList = z.object({ items: z.array(executor) }).meta({ id: "ExecutorList" });

export const executorRequest = z
  .strictObject({
    type: z.string().min(1).max(63).meta({ description: "Type of the executor (docs/reference/executors.md)." }),
    mode: z.enum(executorModes).optional().meta({ description: "Default: `run`." }),
    settings: executorSettings.optional(),
  })
  .meta({ id: "ExecutorRequest" });

export const executorSet = z
  .object({ name: z.string(), action: z.enum(["created", "changed", "unchanged"]) })
  .meta({ id: "ExecutorSet" });

export const executorRemoved = z
  .object({
    name: z.string(),
    attempts: count.meta({ description: "Attempts that hold places on its nodes. They continue." }),
  })
  .meta({ id: "ExecutorRemoved" });

export const abandonRequest = z
  .strictObject({ reason: names.reason.optional() })
  .meta({ id: "AbandonExecutorRequest" });

export const executorAbandoned = z
  .object({ name: z.string(), attempts: count.meta({ description: "Attempts that count as lost now." }) })
  .meta({ id: "ExecutorAbandoned" });

export const byExecutor = z.strictObject({ name: names.executorId });

export type Executor = z.output<typeof executor>;
export type ExecutorList = z.output<typeof executorList>;
export type ExecutorRequestInput = z.input<typeof executorRequest>;
export type ExecutorSet = z.output<typeof executorSet>;
export type ExecutorAbandoned = z.output<typeof executorAbandoned>;
export type ExecutorRemoved = z.output<typeof executorRemoved>;
