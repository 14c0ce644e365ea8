/** `kind: train` and `kind: batch`: what users submit, as they write it and as it goes over the wire. */
import { z } from "zod";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import type { Schedule } from "./schedule-spec.ts";
import { DEFAULT_GRACE_TIMEOUT_MS, DEFAULT_TEAM, defaultRetries, type WorkloadSpec } from "./workload-spec.ts";
import {
  entries,
  fields,
  leaf,
  optionalLeaf,
  readBoolean,
  readInteger,
  readName,
  readText,
  type UnknownFieldNotes,
} from "./field.ts";
import { modelProblems, modelShape } from "./model-fields.ts";
import { priorityHint, readPriority, writePriority } from "./notation/priorities.ts";
import { antiAffinityFields, antiAffinityOf, antiAffinityProblems, antiAffinityText } from "./anti-affinity-fields.ts";
import { workDataFields, workDataOf } from "./data-fields.ts";
import { gangFields, gangOf, gangProblems, gangText, readAcceleratorTypes } from "./gang-fields.ts";
import {
  placementProblems,
  placementShape,
  constraintsOf,
  constraintsText,
  type FieldProblem,
} from "./placement-fields.ts";
import * as quantities from "./notation/quantities.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";
import { timeProblems, timeShape, timesOf, timesText } from "./time-fields.ts";

/** Set by the executor for every worker; a file that sets them too would break the rendezvous or the checkpoints. */
const reservedEnv: readonly string[] = [
  "RANK",
  "WORLD_SIZE",
  "LOCAL_RANK",
  "LOCAL_WORLD_SIZE",
  "GROUP_RANK",
  "NODE_RANK",
  "NNODES",
  "NPROC_PER_NODE",
  "MASTER_ADDR",
  "MASTER_PORT",
  "CUDA_VISIBLE_DEVICES",
  "ROCR_VISIBLE_DEVICES",
  "HEADROOM_WORKLOAD_ID",
  "HEADROOM_WORKLOAD_NAME",
  "HEADROOM_ATTEMPT_ID",
  "HEADROOM_TASK_INDEX",
  "HEADROOM_GROUP",
  "HEADROOM_GROUP_RANK",
  "HEADROOM_GROUP_SIZE",
  "HEADROOM_WORKERS_MIN",
  "HEADROOM_WORKERS_MAX",
  "HEADROOM_WORKER_ID",
  "HEADROOM_ACCELERATOR_PROFILE",
  "HEADROOM_ACCELERATOR_SLICE",
  "HEADROOM_CHECKPOINT_DIR",
  "HEADROOM_CHECKPOINT_REQUEST_FILE",
  "HEADROOM_PROGRESS_FILE",
];

/** As on the wire. */
const DEFAULT_RETRIES = defaultRetries;

const walltimeRange = { min: 1, max: limits.DURATION_MS_MAX };
const graceRange = { min: 0, max: limits.GRACE_MS_MAX };
const backoffRange = { min: 0, max: limits.GRACE_MS_MAX };
const backoffMaxRange = { min: 0, max: limits.DURATION_MS_MAX };
const retriesRange = { min: 0, max: limits.RETRIES_MAX };
const tasksRange = { min: 1, max: limits.TASKS_MAX };

function readEnvValue(name: string, value: unknown): Reading<string> {
  if (!names.environmentName.safeParse(name).success) return refuse("is no name for an environment variable");
  if (reservedEnv.includes(name)) return refuse("is set by Headroom for every worker and cannot be given");
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return read(String(value));
  if (typeof value === "string" && value.trim() === "") return read(value);
  return readText(value, { lengthMax: limits.ENVIRONMENT_VALUE_CHARS_MAX, form: "a text" });
}

function readPath(value: unknown): Reading<string> {
  const reading = readText(value, { lengthMax: limits.PATH_CHARS_MAX, form: "a path" });
  if (reading.ok && /^[a-z][a-z0-9+.-]+:\/\//.test(reading.value)) {
    return refuse(`must be a path on the nodes; object stores are not supported yet, got ${shown(value)}`);
  }
  return reading;
}

const retryFields = fields(
  {
    max: optionalLeaf(
      {
        description: "How often a task may fail by its own exit and be started again; lost nodes do not count.",
        type: "integer",
        minimum: 0,
        maximum: retriesRange.max,
        default: DEFAULT_RETRIES.max,
      },
      DEFAULT_RETRIES.max,
      (value) => readInteger(value, retriesRange),
    ),
    backoff: optionalLeaf(
      {
        description: "Wait before the first retry; doubles with each further one.",
        type: "string",
        pattern: quantities.durationPattern,
        default: quantities.writeDuration(DEFAULT_RETRIES.backoffMs),
      },
      DEFAULT_RETRIES.backoffMs,
      (value) => quantities.readDuration(value, backoffRange),
    ),
    maxBackoff: optionalLeaf(
      {
        description: "The longest wait before a retry.",
        type: "string",
        pattern: quantities.durationPattern,
        default: quantities.writeDuration(DEFAULT_RETRIES.backoffMaxMs),
      },
      null,
      (value): Reading<number | null> => quantities.readDuration(value, backoffMaxRange),
    ),
  },
  { meant: { limit: "max", count: "max", delay: "backoff" } },
);

const checkpointFields = fields(
  {
    dir: optionalLeaf(
      {
        description:
          "Where checkpoints go, relative to this file; left out, Headroom keeps one directory for each workload.",
        type: "string",
      },
      null,
      (value): Reading<string | null> => readPath(value),
    ),
    onRequest: optionalLeaf(
      {
        description:
          "It writes a checkpoint when HEADROOM_CHECKPOINT_REQUEST_FILE appears, and reports it: then it is asked for one before it is evicted.",
        type: "boolean",
        default: false,
      },
      false,
      readBoolean,
    ),
  },
  { later: ["every"], meant: { path: "dir", directory: "dir", request: "onRequest", signal: "onRequest" } },
);

const commonShape = {
  name: leaf(
    { description: "Unique within the team among what has not ended.", type: "string", examples: ["llama-ft"] },
    (value) => readName(value, names.workloadName),
  ),
  team: optionalLeaf(
    { description: "The team whose quota it uses.", type: "string", default: DEFAULT_TEAM, examples: ["research/nlp"] },
    DEFAULT_TEAM,
    (value) => readName(value, names.teamName),
  ),
  run: leaf(
    {
      description: "The command line of every worker, run by /bin/sh -c.",
      type: "string",
      examples: ["torchrun --nnodes $NNODES --nproc-per-node $NPROC_PER_NODE train.py"],
    },
    (value) => readText(value, { lengthMax: limits.COMMAND_CHARS_MAX, form: "a command line" }),
  ),
  dir: optionalLeaf(
    { description: "Working directory, relative to this file; left out, the directory of this file.", type: "string" },
    null,
    (value): Reading<string | null> => readPath(value),
  ),
  env: entries(
    {
      description: "Environment variables on top of the ones that Headroom sets.",
      additionalProperties: { type: ["string", "number", "boolean"] },
    },
    limits.ENVIRONMENT_ENTRIES_MAX,
    readEnvValue,
  ),
  gang: gangFields.prefault({}).meta({ description: "What one worker needs, and how many of them start together." }),
  accelerator: optionalLeaf(
    {
      description: "Accelerator types that will do, in order of preference; left out, any. A gang never mixes types.",
      type: ["string", "array"],
      items: { type: "string" },
      examples: ["H100-SXM", ["H200", "H100"]],
    },
    [],
    readAcceleratorTypes,
  ),
  priority: optionalLeaf(
    {
      description: "Who goes first where the policy orders by priority.",
      ...priorityHint,
      default: "normal",
    },
    0,
    readPriority,
  ),
  walltime: optionalLeaf(
    {
      description: "How long an attempt may run; left out, as long as it likes.",
      type: "string",
      pattern: quantities.durationPattern,
      examples: ["12h", "1h30m"],
    },
    null,
    (value): Reading<number | null> => quantities.readDuration(value, walltimeRange),
  ),
  retries: retryFields.prefault({}).meta({ description: "What happens after a failure." }),
  grace: optionalLeaf(
    {
      description: "Time between SIGTERM and SIGKILL when it is stopped.",
      type: "string",
      pattern: quantities.durationPattern,
      default: quantities.writeDuration(DEFAULT_GRACE_TIMEOUT_MS),
    },
    DEFAULT_GRACE_TIMEOUT_MS,
    (value) => quantities.readDuration(value, graceRange),
  ),
  checkpoint: checkpointFields
    .optional()
    .meta({ description: "Where the workload keeps what it resumes from, and whether it can be asked to." }),
  model: modelShape.optional().meta({
    description: "What it trains: turns on the memory check, the plan and the throughput curve before it is submitted.",
  }),
  ...placementShape,
  antiAffinity: antiAffinityFields
    .optional()
    .meta({ description: "Whom it keeps away from, and who may keep away from it." }),
  data: workDataFields.optional().meta({ description: "What it reads, and the rule that this is under." }),
  ...timeShape,
};

const workloadNotes: UnknownFieldNotes = {
  later: ["replicas", "scale", "rollout", "overflow", "image"],
  meant: {
    accelerators: "gang.accelerators",
    acceleratorType: "accelerator",
    cmd: "run",
    command: "run",
    script: "run",
    cores: "gang.cores",
    cpus: "gang.cores",
    cwd: "dir",
    workdir: "dir",
    environment: "env",
    gpus: "gang.accelerators",
    memory: "gang.memory",
    workers: "gang.workers",
    nodes: "gang.workers",
    retry: "retries",
    time: "walltime",
    timeout: "walltime",
    timeLimit: "walltime",
    gracePeriod: "grace",
    count: "tasks",
    array: "tasks",
    share: "gang.share",
    minWorkers: "elastic.min",
    nodeSelector: "selector",
    labels: "selector",
    topology: "fabric",
    antiAffinity: "antiAffinity",
    exclusive: "apart.exclusive",
    dependsOn: "after",
    depends: "after",
    dependency: "after",
    start: "notBefore",
    begin: "notBefore",
    startAfter: "notBefore",
    due: "deadline",
    preemptable: "preemptible",
  },
};

export const trainSchema = fields(
  {
    kind: z.literal("train").meta({ description: "One gang of workers that starts together or not at all." }),
    ...commonShape,
  },
  workloadNotes,
);

export const batchSchema = fields(
  {
    kind: z.literal("batch").meta({ description: "An array of independent tasks, each a gang of its own." }),
    ...commonShape,
    tasks: leaf(
      {
        description: "How many tasks; each finds its number from 0 on in HEADROOM_TASK_INDEX.",
        type: "integer",
        minimum: 1,
        maximum: tasksRange.max,
      },
      (value) => readInteger(value, tasksRange),
    ),
  },
  workloadNotes,
);

export type WorkloadFields = z.output<typeof trainSchema> | z.output<typeof batchSchema>;

/** What is wrong between fields of one workload that are each fine. `isScheduled`: it is what a schedule submits. */
export function workloadProblems(written: WorkloadFields, isScheduled = false): FieldProblem[] {
  const batch: FieldProblem[] =
    written.kind === "batch" && written.elastic !== undefined
      ? [
          {
            path: ["elastic"],
            message: "is for kind: train only; the tasks of a batch are independent of each other already",
          },
        ]
      : [];
  return [
    ...batch,
    ...gangProblems(written),
    ...antiAffinityProblems(written.antiAffinity),
    ...placementProblems(written),
    ...timeProblems(written, isScheduled),
    ...modelProblems(written),
  ];
}

/** The workload as the API takes it; `dir` and `checkpointDir` as written, for whoever knows where the file lies. */
export function workloadOf(written: WorkloadFields): WorkloadSpec {
  const { backoff: backoffMs, maxBackoff } = written.retries;
  const common = {
    name: written.name,
    team: written.team,
    run: written.run,
    dir: written.dir,
    env: written.env,
    gang: { ...gangOf(written), ...antiAffinityOf(written.antiAffinity) },
    acceleratorTypes: [...written.accelerator],
    priority: written.priority,
    walltimeMs: written.walltime,
    // A first wait above the default longest one raises it: nobody should have to write both.
    retries: {
      max: written.retries.max,
      backoffMs,
      backoffMaxMs: maxBackoff ?? Math.max(backoffMs, DEFAULT_RETRIES.backoffMaxMs),
    },
    graceTimeoutMs: written.grace,
    checkpointDir: written.checkpoint?.dir ?? null,
    ...(written.checkpoint?.onRequest === true ? { checkpointOnRequest: true as const } : {}),
    ...constraintsOf(written),
    ...workDataOf(written.data),
    ...timesOf(written),
  };
  return written.kind === "batch"
    ? { kind: "batch", ...common, taskCount: written.tasks }
    : { kind: "train", ...common };
}

/** The document that reads back as this workload, without what is the default anyway; `fromDue`: in a schedule. */
export function workloadDocument(workload: WorkloadSpec, fromDue?: Schedule["fromDue"]): Record<string, unknown> {
  const { gang, retries } = workload;
  const text: Record<string, unknown> = { kind: workload.kind, name: workload.name };
  if (workload.team !== DEFAULT_TEAM) text["team"] = workload.team;
  text["run"] = workload.run;
  if (workload.dir !== null) text["dir"] = workload.dir;
  if (Object.keys(workload.env).length > 0) text["env"] = { ...workload.env };
  if (workload.kind === "batch") text["tasks"] = workload.taskCount;
  text["gang"] = gangText(gang);
  if (workload.acceleratorTypes.length > 0) text["accelerator"] = [...workload.acceleratorTypes];
  if (workload.priority !== 0) text["priority"] = writePriority(workload.priority);
  if (workload.walltimeMs !== null) text["walltime"] = quantities.writeDuration(workload.walltimeMs);
  text["retries"] = {
    max: retries.max,
    backoff: quantities.writeDuration(retries.backoffMs),
    maxBackoff: quantities.writeDuration(retries.backoffMaxMs),
  };
  text["grace"] = quantities.writeDuration(workload.graceTimeoutMs);
  const checkpoint = {
    ...(workload.checkpointDir === null ? {} : { dir: workload.checkpointDir }),
    ...(workload.checkpointOnRequest === true ? { onRequest: true } : {}),
  };
  if (Object.keys(checkpoint).length > 0) text["checkpoint"] = checkpoint;
  const data = workload.data === undefined ? {} : { data: { ...workload.data } };
  return { ...text, ...constraintsText(workload), ...antiAffinityText(gang), ...data, ...timesText(workload, fromDue) };
}
