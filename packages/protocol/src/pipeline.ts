/** Pipelines, their runs, and the steps of a run. `apply` declares pipelines. */
import { z } from "zod";
import { count, instantMs, limits, names, pipeline } from "@headroom/spec";
import { artifact } from "./attempt.ts";
import { pageOf, pageQuery, queryBoolean, type PageAnswer } from "./page.ts";

const stepPhases = [
  "waiting",
  "running",
  "awaitingApproval",
  "succeeded",
  "cached",
  "skipped",
  "failed",
  "cancelled",
] as const;
const stepPhase = z.enum(stepPhases).meta({
  id: "StepPhase",
  description:
    "`cached`: the artifacts of an earlier success are reused. `skipped`: a condition or a step before it ruled it out.",
});

const pipelineRunPhases = ["waiting", "running", "succeeded", "failed", "cancelled"] as const;
const pipelineRunPhase = z.enum(pipelineRunPhases).meta({
  id: "PipelineRunPhase",
  description: "`waiting`: as many runs of the pipeline are active as may be.",
});

export const runTrigger = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("manual") }),
    z.object({ kind: z.literal("clock"), dueAtMs: instantMs }),
    z.object({
      kind: z.literal("webhook"),
      key: z.string().optional().meta({ description: "Id that the caller gave the request." }),
    }),
    z.object({ kind: z.literal("artifact"), version: z.string(), depth: count }),
    z.object({ kind: z.literal("alias"), version: z.string(), alias: z.string(), depth: count }),
    z.object({
      kind: z.literal("file"),
      uri: z.string(),
      tag: z.string().meta({ description: "Changes when the file is replaced." }),
    }),
    z.object({
      kind: z.literal("metric"),
      subject: z.string(),
      metric: z.string(),
      value: z.string().meta({ description: "The reading that started the run." }),
      sinceMs: instantMs.meta({ description: "Start of the time in which the reading was beyond the threshold." }),
    }),
    z.object({ kind: z.literal("backfill"), date: z.string() }),
  ])
  .meta({ id: "RunTrigger", description: "The cause of the run." });

/** Why a step has its phase, as it was recorded. */
export const stepReason = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("workload"), phase: z.enum(["failed", "cancelled"]) }),
    z.object({ kind: z.literal("upstream"), step: z.string() }),
    z.object({ kind: z.literal("condition"), index: count, found: z.string().nullable() }),
    z.object({ kind: z.literal("timedOut"), timeoutMs: count }),
    z.object({ kind: z.literal("cached"), runId: z.string() }),
    z.object({ kind: z.literal("approved"), actor: z.string(), reason: z.string() }),
    z.object({ kind: z.literal("rejected"), actor: z.string(), reason: z.string() }),
    z.object({ kind: z.literal("refused"), code: z.string() }),
    z.object({ kind: z.literal("fanOut"), cause: z.enum(["missing", "notAList", "tooMany"]) }),
    z.object({ kind: z.literal("tooManyArtifacts"), count }),
    z.object({ kind: z.literal("cancelled") }),
    z.object({ kind: z.literal("aliasSet"), alias: z.string(), version: z.string() }),
    z.object({ kind: z.literal("noVersion"), artifact: z.string() }),
  ])
  .meta({ id: "StepReason" });

export const endedStepPhase = z.enum(["succeeded", "cached", "skipped", "failed", "cancelled"]);
export const endedRunPhase = z.enum(["succeeded", "failed", "cancelled"]);

const params = z
  .record(names.stepName, names.paramValue)
  .refine((entries) => Object.keys(entries).length <= limits.PIPELINE_PARAMS_MAX, {
    message: `must have at most ${limits.PIPELINE_PARAMS_MAX} entries`,
  })
  .meta({ description: "Values of parameters by name." });

const runSummary = {
  id: z.string(),
  pipeline: z.string().meta({ description: "Name of the pipeline." }),
  team: z.string(),
  phase: pipelineRunPhase,
  trigger: runTrigger,
  actor: z.string().meta({ description: "User who started the run; for the clock, who declared the pipeline." }),
  params: z.record(z.string(), z.string()),
  force: z.boolean().meta({ description: "Whether no step uses the cache." }),
  createdAtMs: instantMs,
  startedAtMs: instantMs.nullable(),
  endedAtMs: instantMs.nullable(),
  retryCount: count.meta({ description: "How often the ended run was retried." }),
  counts: z.partialRecord(stepPhase, count).meta({ description: "Number of steps, and items of steps, by phase." }),
};

const pipelineRunItem = z.object(runSummary).meta({ id: "PipelineRunItem" });

const stepItem = z
  .object({
    key: z.string().meta({ description: "`train`, or `train[3]` for the item with number 3." }),
    step: z.string(),
    index: count.nullable(),
    item: z.string().nullable(),
    phase: stepPhase,
    workloadId: z.string().nullable(),
    workloadPhase: z.string().optional().meta({ description: "Phase of its workload; absent: it is no longer kept." }),
    attempts: count
      .optional()
      .meta({ description: "Number of attempts of its workload; absent: it is no longer kept." }),
    proposalId: z
      .string()
      .optional()
      .meta({ description: "Proposal whose decision the step awaits. Absent: none; the step itself is approved." }),
    sentence: z.string().meta({ description: "Why the step waits, or how it ended; empty: nothing is to be said." }),
    artifacts: z.array(artifact),
    startedAtMs: instantMs.nullable(),
    endedAtMs: instantMs.nullable(),
  })
  .meta({ id: "PipelineStepRun" });

const graphStep = z
  .object({
    name: z.string(),
    after: z.array(z.string()),
    kind: z.enum(["workload", "approval", "alias"]),
    isFanOut: z.boolean(),
    level: count.meta({ description: "Number of steps on the longest way to it." }),
    counts: z.partialRecord(stepPhase, count),
  })
  .meta({ id: "PipelineGraphStep" });

export const pipelineRun = z
  .object({
    ...runSummary,
    graph: z.array(graphStep).meta({ description: "The steps of the definition, each after those that it waits for." }),
    stepCount: count.meta({ description: "Number of all steps, with items." }),
  })
  .meta({ id: "PipelineRun" });

export const pipelineStepQuery = pageQuery.extend({
  step: names.stepName.optional().meta({ description: "Only this step, with its items." }),
  phase: z.enum(stepPhases).optional(),
});
export const pipelineStepPage = pageOf(stepItem, "PipelineStepPage");

export const pipelineItem = z
  .object({
    pipeline,
    actor: z.string().meta({ description: "User who declared the pipeline." }),
    nextAtMs: instantMs.nullable().meta({ description: "Next due time of its clock; null: it has none." }),
    left: z.string().optional().meta({ description: "Why the last due time started no run." }),
    openRuns: count,
    lastRun: pipelineRunItem.nullable().meta({ description: "The newest run that is kept." }),
  })
  .meta({ id: "PipelineItem" });

export const pipelineQuery = pageQuery.extend({
  team: names.teamName.optional().meta({ description: "Only pipelines of this team." }),
});
export const pipelinePage = pageOf(pipelineItem, "PipelinePage");
export const pipelineRemoved = z.object({ name: z.string() }).meta({ id: "PipelineRemoved" });

export const pipelineRunQuery = pageQuery.extend({
  pipeline: names.calendarName.optional().meta({ description: "Only runs of this pipeline." }),
  phase: z.enum(pipelineRunPhases).optional(),
});
export const pipelineRunPage = pageOf(pipelineRunItem, "PipelineRunPage");

const day = z.string().regex(/^\d{4}-\d\d-\d\d$/, "must be a day like 2026-03-28");

const backfillSpan = z
  .strictObject({
    from: day.meta({ description: "The first day." }),
    to: day.meta({ description: "The last day." }),
    every: z.enum(["day", "hour"]).default("day"),
    timeZone: z
      .string()
      .max(64)
      .regex(/^[A-Za-z0-9_+\-/]+$/, "must be the name of a time zone like Europe/Oslo")
      .default("UTC")
      .meta({ description: "Time zone of the days, by its name in the IANA database." }),
  })
  .meta({ id: "BackfillSpan", description: "One run for each day, or each hour, in the parameter `date`." });

export const runRequest = z
  .strictObject({
    params: params.default({}),
    force: z.boolean().default(false).meta({ description: "Whether no step uses the cache." }),
    backfill: backfillSpan.optional().meta({ description: "Absent: one run." }),
  })
  .meta({ id: "PipelineRunRequest" });

export const triggerRequest = z
  .strictObject({
    params: params.default({}),
    key: z
      .string()
      .regex(/^[A-Za-z0-9._:-]{1,100}$/, "must be 1 to 100 letters, digits, '.', '_', ':' and '-'")
      .optional()
      .meta({ description: "Id of the request. While its run is kept, the same id starts no other run." }),
  })
  .meta({ id: "PipelineTriggerRequest" });

export const runDryRun = z.strictObject({
  dryRun: queryBoolean.optional().meta({ description: "Only check, and plan the graph, without recording anything." }),
});

const plannedStep = z
  .object({
    name: z.string(),
    after: z.array(z.string()),
    outcome: z.enum(["runs", "cached", "skipped", "approval", "open"]).meta({
      description: "`cached`, `skipped`: known before the start. `open`: it depends on results of steps before it.",
    }),
    startMs: count.nullable().meta({ description: "Expected start after the start of the run; null: not known." }),
    endMs: count.nullable().meta({ description: "Expected end after the start of the run; null: not known." }),
    durationMs: count.nullable(),
    basis: z
      .enum(["runs", "walltime", "none"])
      .meta({ description: "Source of the duration: earlier runs of the pipeline, its walltime, or nothing." }),
    accelerators: count.meta({ description: "Accelerators of its workload, for each item." }),
    items: count.nullable().meta({ description: "Number of items; null: known only when the run is there." }),
    acceleratorHours: z.number().nullable(),
  })
  .meta({ id: "PlannedStep" });

const runPlan = z
  .object({
    steps: z.array(plannedStep),
    startsAtMs: instantMs.nullable().meta({
      description: "Expected start of its first workload in the queue as it is now; null: not known.",
    }),
    endMs: count.nullable().meta({ description: "Expected end after the start, on an idle fleet; null: not known." }),
    acceleratorHours: z.number().nullable(),
    costMicroUsd: count.nullable().meta({ description: "At the lowest price of a pool that fits; null: not known." }),
  })
  .meta({ id: "PipelineRunPlan", description: "The graph of a run before it starts, on an idle fleet." });

export const runsStarted = z
  .object({
    dryRun: z.boolean(),
    runIds: z.array(z.string()),
    dates: z.array(z.string()).optional().meta({ description: "Dates of a backfill, in the order of the runs." }),
    plan: runPlan.optional().meta({ description: "With `dryRun`: the plan of one run." }),
  })
  .meta({ id: "PipelineRunsStarted" });

export const runCancelled = z.object({ id: z.string() }).meta({ id: "PipelineRunCancelled" });

export const runRetried = z
  .object({
    id: z.string(),
    steps: count.meta({ description: "Number of steps, and items of steps, that run again." }),
  })
  .meta({ id: "PipelineRunRetried" });

export const stepDecided = z
  .object({ id: z.string(), step: z.string(), approved: z.boolean() })
  .meta({ id: "PipelineStepDecided" });

export const retryRequest = z
  .strictObject({
    from: names.stepName
      .optional()
      .meta({ description: "A step that runs again even if it succeeded, with all after it." }),
    force: z.boolean().default(false),
  })
  .meta({ id: "PipelineRetryRequest" });

export const decideRequest = z
  .strictObject({
    step: z.string().max(100).meta({ description: "The step that waits for approval." }),
    approved: z.boolean(),
    reason: z.string().max(limits.REASON_CHARS_MAX).default(""),
  })
  .meta({ id: "PipelineDecideRequest" });

export type StepPhase = z.output<typeof stepPhase>;
export type PipelineRunPhase = z.output<typeof pipelineRunPhase>;
export type PipelineRunItem = z.output<typeof pipelineRunItem>;
export type PipelineRun = z.output<typeof pipelineRun>;
export type PipelineStepRun = z.output<typeof stepItem>;
export type PipelineGraphStep = z.output<typeof graphStep>;
export type PipelineItem = z.output<typeof pipelineItem>;
export type PipelinePage = z.output<typeof pipelinePage>;
export type PipelineStepPage = PageAnswer<z.output<typeof pipelineStepPage>>;
export type PipelineRemoved = z.output<typeof pipelineRemoved>;
export type PipelineRunPage = z.output<typeof pipelineRunPage>;
export type PipelineRunRequest = z.input<typeof runRequest>;
export type PipelineTriggerRequest = z.input<typeof triggerRequest>;
export type PipelineRetryRequest = z.input<typeof retryRequest>;
export type PipelineDecision = z.input<typeof decideRequest>;
export type PipelineRunsStarted = z.output<typeof runsStarted>;
export type PipelineRunPlan = z.output<typeof runPlan>;
export type PipelineRunCancelled = z.output<typeof runCancelled>;
export type PipelineRunRetried = z.output<typeof runRetried>;
export type PipelineStepDecided = z.output<typeof stepDecided>;
export type PlannedStep = z.output<typeof plannedStep>;
export type RunTrigger = z.output<typeof runTrigger>;
export type StepReason = z.output<typeof stepReason>;
