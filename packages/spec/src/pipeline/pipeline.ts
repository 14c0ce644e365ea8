/** `kind: pipeline`: a graph of steps, each a workload or an approval. */
import { z } from "zod";
import type { FieldProblem } from "../document-problem.ts";
import {
  defaulted,
  listOf,
  literal,
  nullable,
  optional,
  record,
  required,
  type WrittenFields,
} from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { shown } from "../notation/reading.ts";
import { cronNotation, scheduleTimes } from "../schedule-times.ts";
import {
  ofStepWorkload,
  scheduledSpec,
  stepBatch,
  stepTrain,
  workloadDocument,
  workloadOf,
  type WorkloadSpec,
  type WrittenStepWorkload,
} from "../workload/workload.ts";
import { DEFAULT_TEAM } from "../default-team.ts";
import { workloadProblems } from "../workload/workload-problems.ts";
import { conditions, forEach } from "./conditions.ts";
import { METRIC_FOR_MS, METRIC_FOR_MS_MAX, metricThreshold, metricTrigger } from "./metric-trigger.ts";

const stepName = notation.name(names.stepName);
const stepNames = (noun: string, example: string, max: number) =>
  notation.list(stepName, { max, noun, example, orSingle: true });

const submitted = z.discriminatedUnion("kind", [stepTrain.schema as never, stepBatch.schema as never], {
  error: (issue) =>
    issue.code === "invalid_union" ? undefined : `must be a workload of kind train or batch, got ${shown(issue.input)}`,
}) as unknown as z.ZodType<WrittenStepWorkload>;

/** The workload of a step, without the fields that the step and its pipeline state. */
const workload: notation.Notation<WrittenStepWorkload, typeof scheduledSpec> = {
  wire: scheduledSpec,
  kind: "document of kind `train` or `batch`, without `name`, `team`, `after`, `notBefore`, `deadline` and `model`",
  editor: {},
  required: (hint) => submitted.meta(hint),
  optional: (hint) =>
    submitted
      .optional()
      .meta(hint)
      .transform((written): WrittenStepWorkload | null => written ?? null),
  // The step knows its name and team only when the whole pipeline is read.
  toWire: (written) => written,
  toManifest: (spec) => {
    const { name: _name, team: _team, ...rest } = workloadDocument(spec);
    return rest;
  },
};

const stepsAtOnce = notation.integer(1, limits.STEPS_AT_ONCE_MAX);

const step = record(
  {
    name: required(stepName, { description: "The name of the step, unique in the pipeline.", examples: ["train"] }),
    after: defaulted(stepNames("steps", "[prepare]", limits.STEP_AFTER_MAX), [], {
      description: "Steps that must have ended before this one starts. Its workload gets their artifacts.",
      examples: [["prepare"]],
    }),
    upstream: defaulted(notation.choice(["succeeded", "ended"]), "succeeded", {
      description:
        "`succeeded`: the step is skipped unless all steps in `after` succeeded. `ended`: it runs however they ended, for example to clean up.",
    }),
    when: defaulted(conditions, [], {
      description:
        "Conditions, all of which must hold; otherwise the step is skipped. They compare a parameter, a result of a step in `after`, or its outcome.",
      examples: ["evaluate.score >= 0.9", "params.mode == full", "train is failed"],
    }),
    forEach: optional(forEach, {
      description: "Runs the step once for each item. The item is in HEADROOM_ITEM, its number in HEADROOM_ITEM_INDEX.",
      otherwise: "runs once",
    }),
    atOnce: optional(stepsAtOnce, {
      description: "Maximum number of items that run at one time.",
      otherwise: "as many as fit",
    }),
    params: optional(stepNames("parameters", "[rows]", limits.PIPELINE_PARAMS_MAX), {
      description:
        "Parameters that the workload gets, as HEADROOM_PARAM_ROWS for `rows`. Its cache key depends on these alone.",
      otherwise: "all",
    }),
    cache: optional(notation.flag, {
      description:
        "Whether the step is skipped, and its artifacts reused, if it succeeded before with the same workload, image, `version`, parameters, item and inputs. Registered inputs count by the digest of their bytes.",
      otherwise: "`false`",
    }),
    timeout: optional(notation.duration(1, limits.DURATION_MS_MAX), {
      wire: "timeoutMs",
      description: "Time from the submission of the workload, its wait included, after which it is stopped and fails.",
      examples: ["6h"],
      otherwise: "unlimited",
    }),
    workload: nullable(workload, {
      wire: "spec",
      description: "The workload that the step submits.",
      otherwise: "none: a person decides with `approval: true`, or `setAlias`",
    }),
    setAlias: optional(notation.text(names.artifactRef, limits.ARTIFACT_REF_CHARS_MAX, "an alias"), {
      description:
        "Instead of a workload: points this alias to the version of the artifact that the steps in `after` made.",
      examples: ["model:chat@production"],
      otherwise: "none",
    }),
    approval: optional(notation.flag, {
      wire: null,
      description: "Whether the step waits until a person approves it, instead of running a workload.",
      otherwise: "`false`",
    }),
  },
  {
    meant: {
      needs: "after",
      dependsOn: "after",
      depends: "after",
      if: "when",
      condition: "when",
      matrix: "forEach",
      foreach: "forEach",
      withItems: "forEach",
      parallelism: "atOnce",
      run: "workload.run",
      retries: "workload.retries",
      walltime: "workload.walltime",
    },
    wire: (shape) => z.strictObject(shape).meta({ id: "PipelineStep" }),
    check: (written) =>
      Number(written.workload !== null) + Number(written.approval === true) + Number(written.setAlias !== null) === 1
        ? undefined
        : "must have one of workload, approval: true and setAlias",
    toManifest: (written, { spec, setAlias }) =>
      spec === null && setAlias === undefined ? { ...written, approval: true } : written,
  },
);

const FILE_URI_CHARS_MAX = 2_048;
const fileUri = z
  .string()
  .max(FILE_URI_CHARS_MAX)
  .regex(/^(?:s3|file):\/\/[^\s]+$/, "must be a URI like s3://lake/raw/ or file:///data/raw/");

const clockTrigger = z.strictObject({
  kind: z.literal("clock"),
  times: scheduleTimes,
  concurrency: z.enum(["allow", "forbid", "replace"]),
});
const triggerDuration = notation.duration(1, METRIC_FOR_MS_MAX);

const pipelineTrigger = z
  .discriminatedUnion("kind", [
    clockTrigger,
    z.strictObject({ kind: z.literal("webhook") }),
    z.strictObject({ kind: z.literal("artifact"), artifact: names.artifactRef }),
    z.strictObject({ kind: z.literal("alias"), alias: names.artifactRef }),
    z.strictObject({ kind: z.literal("file"), uri: fileUri }),
    metricTrigger,
  ])
  .meta({ id: "PipelineTrigger", description: "A cause of runs of a pipeline, besides people." });

const trigger = record(
  {
    cron: optional(cronNotation, {
      description: "Due times in UTC. The parameter `date`, if there is one, gets the day.",
      examples: ["0 3 * * *"],
    }),
    concurrency: optional(notation.choice(["allow", "forbid", "replace"]), {
      description:
        "Behaviour while the last run that the clock started has not ended: start another one, skip the new one, or cancel the last one.",
      otherwise: "`forbid`",
    }),
    webhook: optional(notation.flag, {
      description: "Whether `POST /v1/pipelines/NAME/trigger` starts a run.",
      otherwise: "`false`",
    }),
    artifact: optional(notation.text(names.artifactRef, limits.ARTIFACT_REF_CHARS_MAX, "an artifact"), {
      description:
        "Each new version of this artifact starts a run. The parameter `artifact`, if there is one, gets the version.",
      examples: ["dataset:text"],
      otherwise: "none",
    }),
    alias: optional(notation.text(names.artifactRef, limits.ARTIFACT_REF_CHARS_MAX, "an alias"), {
      description: "Each move of this alias starts a run. The parameter `artifact`, if there is one, gets the version.",
      examples: ["model:chat@production"],
      otherwise: "none",
    }),
    metric: optional(metricThreshold, {
      description:
        "A run starts when this reading was beyond the threshold for the time in `for`; the next one only after it was within the threshold again. The parameter `reading`, if there is one, gets its value. Subjects: `fleet`, `pool:NAME`, `node:ID`, `team:NAME` of the own team and those below, and `endpoint:NAME` of the own team.",
      examples: ["endpoint:chat ttftMs > 800"],
      otherwise: "none",
    }),
    for: optional(triggerDuration, {
      description: "Time for which `metric` must have been beyond its threshold, at most 28 days.",
      examples: ["15m"],
      otherwise: "`10m`",
    }),
    file: optional(notation.text(fileUri, FILE_URI_CHARS_MAX, "a URI"), {
      description:
        "Each new or replaced file at or below this URI, in a declared store that the team can read, starts a run. The parameter `file`, if there is one, gets its URI.",
      examples: ["s3://lake/raw/"],
      otherwise: "none",
    }),
  },
  {
    wire: () => pipelineTrigger,
    check: ({ cron, concurrency, webhook, artifact, alias, file, metric, for: time }) => {
      const others = [cron, artifact, alias, file, metric].filter((cause) => cause !== null);
      if (others.length + (webhook === true ? 1 : 0) !== 1)
        return "must have one of cron, webhook: true, artifact, alias, file and metric";
      if (metric === null && time !== null) return "has for only with metric";
      return cron === null && concurrency !== null ? "has concurrency only with cron" : undefined;
    },
    toWire: (_wire, { cron, concurrency, artifact, alias, file, metric, for: time }) => {
      if (metric !== null) return { kind: "metric", ...metric, forMs: time ?? METRIC_FOR_MS };
      if (file !== null) return { kind: "file", uri: file };
      if (artifact !== null) return { kind: "artifact", artifact };
      if (alias !== null) return { kind: "alias", alias };
      return cron === null ? { kind: "webhook" } : { kind: "clock", times: cron, concurrency: concurrency ?? "forbid" };
    },
    toManifest: (_written, wire) => {
      switch (wire.kind) {
        case "webhook":
          return { webhook: true };
        case "artifact":
          return { artifact: wire.artifact };
        case "alias":
          return { alias: wire.alias };
        case "file":
          return { file: wire.uri };
        case "metric":
          return {
            metric: metricThreshold.toManifest(wire),
            ...(wire.forMs === METRIC_FOR_MS ? {} : { for: triggerDuration.toManifest(wire.forMs) }),
          };
        case "clock":
          return {
            cron: cronNotation.toManifest(wire.times),
            ...(wire.concurrency === "forbid" ? {} : { concurrency: wire.concurrency }),
          };
      }
    },
  },
);

const param = record({
  name: required(stepName, { description: "The name of the parameter.", examples: ["rows"] }),
  default: nullable(notation.text(names.paramValue, limits.PARAM_CHARS_MAX, "a text"), {
    description: "Its value if a run states none.",
    otherwise: "every run must state it",
  }),
});

export const pipelineManifest = record(
  {
    kind: literal(
      "pipeline",
      "A pipeline is a graph of steps. Each step is a workload, or waits for a person's approval.",
    ),
    name: required(notation.name(names.calendarName), {
      description: "The name of the pipeline, unique among pipelines.",
      examples: ["retrain"],
    }),
    team: defaulted(notation.name(names.teamName), DEFAULT_TEAM, {
      description: "The team whose quota all workloads of the pipeline use.",
      examples: ["research/nlp"],
    }),
    version: optional(notation.text(names.reason, limits.REASON_CHARS_MAX, "a text"), {
      description: "Version of the code that the steps run, such as a commit. Part of every cache key.",
      examples: ["4f1c2d9"],
      otherwise: "none",
    }),
    params: defaulted(
      listOf(param, {
        max: limits.PIPELINE_PARAMS_MAX,
        error: (value) => `must be a list like [{ name: rows, default: "1000" }], got ${shown(value)}`,
      }),
      [],
      { description: "Parameters. Workers get each as an environment variable, such as HEADROOM_PARAM_ROWS." },
    ),
    steps: required(
      listOf(step, {
        min: 1,
        max: limits.PIPELINE_STEPS_MAX,
        error: (value) => `must be a list of steps, got ${shown(value)}`,
      }),
      { description: "The steps." },
    ),
    stepsAtOnce: optional(stepsAtOnce, {
      description: "Maximum number of workloads of a run at one time.",
      otherwise: "as many as fit",
    }),
    runsAtOnce: optional(notation.integer(1, limits.STEPS_AT_ONCE_MAX), {
      description: "Maximum number of runs at one time. Further ones wait in order.",
      otherwise: "no limit",
    }),
    triggers: optional(
      listOf(trigger, {
        min: 1,
        max: 10,
        error: (value) => `must be a list like [{ cron: "0 3 * * *" }], got ${shown(value)}`,
      }),
      { description: "Causes of runs, besides `headroom pipeline run`.", otherwise: "nothing" },
    ),
  },
  {
    meant: {
      parameters: "params",
      inputs: "params",
      tasks: "steps",
      jobs: "steps",
      stages: "steps",
      parallelism: "stepsAtOnce",
      schedule: "triggers",
      cron: "triggers",
      on: "triggers",
    },
    wire: ({ kind: _kind, ...shape }) =>
      z
        .strictObject(shape)
        .check(({ value, issues }) => {
          for (const [at, { name, spec }] of value.steps.entries())
            if (spec !== null && (spec.kind === "serve" || spec.team !== value.team || spec.name !== name))
              issues.push({
                code: "custom",
                input: spec,
                path: ["steps", at, "spec"],
                message: "must be of kind train or batch, with the name of the step and the team of the pipeline",
              });
        })
        .meta({ id: "Pipeline" }),
    toWire: ({ kind: _kind, steps, ...wire }, written) => ({
      ...wire,
      steps: (steps as readonly object[]).map((each, at) => {
        const { name, workload: own } = written.steps[at] as WrittenFields<typeof step.parts>;
        const spec = own === null ? null : workloadOf(ofStepWorkload(own, name, written.team ?? DEFAULT_TEAM));
        return { ...each, spec };
      }),
    }),
    toManifest: (written) => ({ kind: "pipeline", ...written }),
  },
);
export const pipeline = pipelineManifest.wire;
export type Pipeline = z.output<typeof pipeline>;
type WrittenPipeline = WrittenFields<typeof pipelineManifest.parts>;

/** Problems inside the workloads of steps. Problems of the graph are found by the control plane. */
export const pipelineProblems = ({ steps, team }: WrittenPipeline): FieldProblem[] =>
  steps.flatMap(({ name, workload: own }, at) =>
    own === null
      ? []
      : workloadProblems(ofStepWorkload(own, name, team ?? DEFAULT_TEAM)).map((problem) => ({
          ...problem,
          path: ["steps", at, "workload", ...problem.path],
        })),
  );

export const pipelineOf = (written: WrittenPipeline): Pipeline => pipelineManifest.toWire(written) as Pipeline;

/** Converts a pipeline to the document from which reading gives the same pipeline. */
export const pipelineDocument = (declared: Pipeline): Record<string, unknown> =>
  pipelineManifest.toManifest(declared) as Record<string, unknown>;

/** The workloads of a pipeline, each with its place. */
export const stepSpecs = ({ steps }: Pipeline): readonly { readonly at: number; readonly spec: WorkloadSpec }[] =>
  steps.flatMap(({ spec }, at) => (spec === null ? [] : [{ at, spec }]));
