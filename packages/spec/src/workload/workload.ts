/**
 * `kind: train` and `kind: batch`: workloads to submit. After parsing, the form of the API has every field, as in the
 * engine.
 */
import { z } from "zod";
import {
  defaulted,
  flat,
  literal,
  nested,
  nullable,
  optional,
  record,
  required,
  wireShape,
  type WrittenFields,
} from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import { DEFAULT_TEAM } from "../default-team.ts";
import { readText } from "../encoding/read-values.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { priority } from "../encoding/priority.ts";
import * as quantities from "../notation/quantities.ts";
import { read, refuse, shown, type Reading } from "../notation/reading.ts";
import { sliceFaultsIn } from "./slices.ts";
import { checkpointStoreFields } from "./checkpoint-store.ts";
import { environment } from "./environment.ts";
import { acceleratorTypes, elasticSize, gang } from "./gang.ts";
import { model } from "./model.ts";
import { antiAffinity, elastic, fabric, labels, spread, workloadData } from "./placement.ts";
import { notify } from "./notify.ts";
import { overflow } from "./overflow.ts";
import { rollout } from "./rollout.ts";
import { retries } from "./retries.ts";
import { scale } from "./scale-targets.ts";
import { endpointBudget } from "./endpoint-budget.ts";
import { secrets } from "./secrets.ts";
import { ready, replicas, servedModel } from "./serving.ts";
import { minRuntimeOf, timeFields, withFromDue, type FromDue } from "./times.ts";

/**
 * The default grace period, the same as Kubernetes' `terminationGracePeriodSeconds`:
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/.
 */
export const DEFAULT_GRACE_TIMEOUT_MS = 30_000;
/** A path on the nodes. It is absolute in the API; a manifest can contain a relative one. */
const nodePath = notation.scalar({
  wire: names.absolutePath,
  kind: "path",
  editor: { type: "string" },
  read: (value) => {
    const reading = readText(value, { lengthMax: limits.PATH_CHARS_MAX, form: "a path" });
    return reading.ok && /^[a-z][a-z0-9+.-]+:\/\//.test(reading.value)
      ? refuse(`must be a path on the nodes; object stores are not supported yet, got ${shown(value)}`)
      : reading;
  },
});

const everyTime = notation.duration(1_000, limits.DURATION_MS_MAX);

const checkpointEvery = notation.scalar({
  wire: z.union([everyTime.wire, z.literal("auto")]),
  unit: "Milliseconds.",
  kind: "duration or `auto`",
  editor: { anyOf: [{ type: "string", pattern: quantities.durationPattern }, { const: "auto" }] },
  read: (value): Reading<number | "auto"> => {
    if (value === "auto") return read("auto");
    const reading = everyTime.read(value);
    return reading.ok ? reading : refuse(`${reading.message}; or write auto`);
  },
  write: (wire) => (wire === "auto" ? wire : quantities.writeDuration(wire)),
});

const checkpoint = record(
  {
    dir: nullable(nodePath, {
      wire: "checkpointDir",
      description: "Directory of checkpoints, relative to the file.",
      otherwise: "a directory that Headroom keeps for the workload",
    }),
    onRequest: optional(notation.flag, {
      wire: "checkpointOnRequest",
      description:
        "Whether the program writes and reports a checkpoint when HEADROOM_CHECKPOINT_REQUEST_FILE appears. If so, a checkpoint is requested before the workload is preempted, migrated or drained.",
      otherwise: "`false`",
    }),
    every: optional(checkpointEvery, {
      wire: "checkpointEvery",
      description:
        "Time between checkpoints; workers get it as HEADROOM_CHECKPOINT_EVERY_SECONDS. `auto`: Daly's optimum for the recorded failure rate of the fleet's nodes, chosen at each start.",
      examples: ["30m", "auto"],
      otherwise: "the workload decides itself",
    }),
    cost: optional(notation.duration(1, limits.GRACE_MS_MAX), {
      wire: "checkpointCostMs",
      description:
        "Time for which one checkpoint stops the work. `every: auto` compares it with the work lost at a failure.",
      examples: ["20s"],
      otherwise: "`30s`",
    }),
    ...checkpointStoreFields,
  },
  {
    meant: {
      path: "dir",
      interval: "every",
      stall: "cost",
      directory: "dir",
      request: "onRequest",
      signal: "onRequest",
    },
  },
);

const common = {
  name: required(notation.name(names.workloadName), {
    description: "The name of the workload, unique within the team among workloads that have not ended.",
    examples: ["llama-ft"],
  }),
  team: defaulted(notation.name(names.teamName), DEFAULT_TEAM, {
    description: "The team whose quota the workload uses.",
    examples: ["research/nlp"],
  }),
  run: required(notation.text(names.commandLine, limits.COMMAND_CHARS_MAX, "a command line"), {
    description: "The command line of every worker, run by `/bin/sh -c`.",
    examples: ["torchrun --nnodes $NNODES --nproc-per-node $NPROC_PER_NODE train.py"],
  }),
  image: optional(notation.name(names.imageName), {
    description: "The container image in which the workers run, in pools whose executor runs images.",
    examples: ["localhost/train:1"],
    otherwise: "the programs of the node",
  }),
  dir: nullable(nodePath, {
    description:
      "Working directory, relative to the file. `own`, in the API `null`: a new directory that the executor gives to each attempt.",
    otherwise: "the directory of the file",
  }),
  env: defaulted(
    environment,
    {},
    {
      description: "Environment variables in addition to those that Headroom sets.",
      otherwise: "none",
    },
  ),
  secrets: optional(secrets, {
    description:
      "Secrets of the Kubernetes cluster in which the workload runs, by name. It runs in pools whose executor gives them to workers (`secrets` of its settings).",
    otherwise: "none",
  }),
  gang: nested(gang, { description: "Resources of one worker, and the number of workers that start together." }),
  accelerator: defaulted(acceleratorTypes, [], {
    wire: "acceleratorTypes",
    description: "Accelerator types that the workload accepts, in order of preference. A gang never mixes types.",
    examples: ["H100-SXM", ["H200", "H100"]],
    otherwise: "any",
  }),
  waitForType: optional(notation.flag, {
    description:
      "`true`: the workload waits until a node has such accelerators. Otherwise a type that no node has is refused at the submission.",
    otherwise: "`false`",
  }),
  priority: defaulted(priority, 0, {
    description:
      "`low` (-100), `normal` (0), `high` (100) or a whole number. The larger goes first if the policy orders by priority.",
  }),
  walltime: nullable(notation.duration(1, limits.DURATION_MS_MAX), {
    wire: "walltimeMs",
    description: "Maximum run time of an attempt.",
    examples: ["12h", "1h30m"],
    otherwise: "unlimited",
  }),
  retries: nested(retries, { description: "Retries after a failure of a task." }),
  grace: defaulted(notation.duration(0, limits.GRACE_MS_MAX), DEFAULT_GRACE_TIMEOUT_MS, {
    wire: "graceTimeoutMs",
    description: "Grace period: the time between SIGTERM and SIGKILL when the workload is stopped.",
  }),
  checkpoint: flat(checkpoint, {
    description: "Directory, interval and requests of checkpoints.",
  }),
  model: optional(model, {
    wire: null,
    description: "The model that the workload trains. Memory, plan and speed are checked before the submission.",
    otherwise: "not checked",
  }),
  elastic: optional(elastic, {
    wire: null,
    description: "Minimum and maximum number of workers.",
    otherwise: "not elastic",
  }),
  fabric: optional(fabric, { description: "Placement of the workers in the fabric." }),
  selector: optional(labels, {
    wire: "nodeSelector",
    description: "Labels that the nodes must have.",
    examples: [{ rack: "r1" }],
    otherwise: "any node",
  }),
  spread: optional(spread, {
    description: "Spreading of the workers over failure domains.",
    otherwise: "not spread",
  }),
  antiAffinity: optional(antiAffinity, {
    wire: null,
    description: "Anti-affinity: sets to which the workload belongs, and sets that it avoids.",
  }),
  notify: optional(notify, {
    description:
      "Notifications about the workload, to channels that the operator declared (`notify.yaml`); a workload cannot name an address. Occasions: `start`, `end` (the default), `nodeLoss`, `maintenance`.",
    examples: ["team-chat", { to: ["team-chat", "mail"], on: ["end"] }],
    otherwise: "none",
  }),
  data: optional(workloadData, { description: "Data sets that the workload reads, and their data rule." }),
  ...timeFields,
};

const tasks = required(notation.integer(1, limits.TASKS_MAX), {
  wire: "taskCount",
  description: "Number of tasks. Each task gets its index, from 0, in HEADROOM_TASK_INDEX.",
});

const tasksAtOnce = optional(notation.integer(1, limits.TASKS_MAX), {
  description: "Maximum number of tasks that run at one time.",
  examples: [4],
  otherwise: "as many as fit",
});

const notes = {
  later: ["scale"],
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
    parallelism: "tasksAtOnce",
    throttle: "tasksAtOnce",
    array: "tasks",
    share: "gang.share",
    minWorkers: "elastic.min",
    nodeSelector: "selector",
    labels: "selector",
    topology: "fabric",
    exclusive: "antiAffinity.exclusive",
    dependsOn: "after",
    depends: "after",
    dependency: "after",
    start: "notBefore",
    begin: "notBefore",
    startAfter: "notBefore",
    due: "deadline",
    minReplicas: "replicas.min",
    maxReplicas: "replicas.max",
    readinessProbe: "ready",
    health: "ready",
    preemptable: "preemptible",
  },
};

type WrittenCommon = WrittenFields<typeof common>;

/** In the API, elastic bounds and anti-affinity are fields of the gang. */
function toWire(wire: Record<string, unknown>, written: WrittenCommon): unknown {
  const least = minRuntimeOf(written);
  const away = written.antiAffinity === null ? {} : { antiAffinity: antiAffinity.toWire(written.antiAffinity) };
  const size = written.gang.taskGroups === null ? elasticSize(written.gang, written.elastic) : {};
  return {
    ...wire,
    gang: { ...(wire["gang"] as object), ...size, ...away },
    ...(least === null ? {} : { minRuntimeMs: least }),
  };
}

interface GangOnWire {
  readonly gang: z.output<typeof gang.wire>;
}

function toManifest(written: Record<string, unknown>, { gang: spec }: GangOnWire): unknown {
  const isElastic = spec.taskGroups === undefined && spec.minWorkers !== undefined && spec.minWorkers < spec.workers;
  const { workers: _workers, ...alike } = (written["gang"] ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...written,
    ...(isElastic ? { gang: alike, elastic: { ...(elastic.toManifest(spec) as object), max: spec.workers } } : {}),
    ...(spec.antiAffinity === undefined ? {} : { antiAffinity: antiAffinity.toManifest(spec.antiAffinity) }),
  };
}

/** Fields of the API that manifests do not have. */
const wireOnly = {
  ...wireShape(checkpoint.parts),
  hold: z
    .literal(true)
    .optional()
    .meta({ description: "Whether the workload is held: it does not start until it is released." }),
};
const kinds = {
  train: literal("train", "One gang of workers that starts together or not at all."),
  batch: literal("batch", "An array of independent tasks; each task is a gang."),
  serve: literal("serve", "An endpoint: replicas of a server that are restarted whenever they end."),
};

export const train = record(
  { kind: kinds.train, ...common },
  {
    ...notes,
    wire: (shape) => z.strictObject({ ...shape, ...wireOnly }).meta({ id: "TrainSpec" }),
    toWire,
    toManifest,
  },
);

export const batch = record(
  { kind: kinds.batch, ...common, tasks, tasksAtOnce },
  {
    ...notes,
    wire: (shape) =>
      z
        .strictObject({ ...shape, ...wireOnly })
        .refine((spec) => spec.gang.minWorkers === undefined, {
          path: ["gang", "minWorkers"],
          message: "must be left out for a batch, whose tasks are already independent",
        })
        .meta({ id: "BatchSpec" }),
    toWire,
    toManifest,
  },
);

/** Fields of a workload that a step of a pipeline does not have: the pipeline, or the step itself, states them. */
const {
  name: _name,
  team: _team,
  after: _after,
  notBefore: _notBefore,
  deadline: _deadline,
  model: _model,
  ...ofStep
} = common;
export const stepTrain = record({ kind: kinds.train, ...ofStep }, notes);
export const stepBatch = record({ kind: kinds.batch, ...ofStep, tasks, tasksAtOnce }, notes);
export type WrittenStepWorkload = WrittenFields<typeof stepTrain.parts> | WrittenFields<typeof stepBatch.parts>;

/** The workload of a step as a whole workload. */
export const ofStepWorkload = (written: WrittenStepWorkload, name: string, team: string): WrittenWorkload => ({
  ...written,
  name,
  team,
  after: null,
  notBefore: null,
  deadline: null,
  model: null,
});

const { model: _trainedModel, elastic: _elastic, ...served } = common;

export const serve = record(
  {
    kind: kinds.serve,
    ...served,
    replicas,
    ready,
    scale,
    rollout,
    overflow,
    budget: endpointBudget,
    model: servedModel,
  },
  {
    ...notes,
    wire: (shape) =>
      z
        .strictObject({ ...shape, ...wireOnly })
        .refine((spec) => spec.gang.minWorkers === undefined, {
          path: ["gang", "minWorkers"],
          message: "must be left out for an endpoint, which grows by whole replicas",
        })
        .refine((spec) => spec.scale?.idleToZeroMs === undefined || spec.replicas.min === 0, {
          path: ["scale", "idleToZeroMs"],
          message: "needs replicas with min 0",
        })
        .meta({ id: "ServeSpec" }),
    toWire: (wire, written) => toWire(wire, { ...written, model: null, elastic: null }),
    toManifest,
  },
);

/** The spec without the check of its latest start, which a schedule can state as a duration. */
const specWithoutEnd = z
  .discriminatedUnion("kind", [train.wire, batch.wire, serve.wire])
  .refine((spec) => spec.gang.taskGroups === undefined || spec.fabric?.slices === undefined, {
    path: ["fabric", "slices"],
    message: "must be stated for each group if the gang has groups",
  })
  .refine((spec) => spec.gang.taskGroups === undefined || spec.onNodeLoss !== "replace", {
    path: ["onNodeLoss"],
    message: "must be restart if the gang has groups, because their workers are not replaced yet",
  });

type SpecWithoutEnd = z.output<typeof specWithoutEnd>;

export const hasEnd = ({ startWindow, deadlineMs }: Pick<SpecWithoutEnd, "startWindow" | "deadlineMs">): boolean =>
  (startWindow?.cheapestMs === undefined && startWindow?.cleanestMs === undefined) ||
  startWindow.latestStartMs !== undefined ||
  deadlineMs !== undefined;
export const needsEnd = {
  path: ["startWindow"],
  message: "needs a latest start or a deadline: the cheapest or cleanest start is searched before that time",
};

/** The stored spec. After parsing it has every field and equals the engine's `WorkloadSpec`. */
export const workloadSpec = specWithoutEnd.refine(hasEnd, needsEnd).meta({ id: "WorkloadSpec" });

/**
 * The spec of a submission, whose slices must be whole. Answers use `workloadSpec`, because workloads accepted before
 * that rule can break it.
 */
export const submittedSpec = specWithoutEnd
  .refine(hasEnd, needsEnd)
  .check(({ value, issues }) => {
    for (const { path, message } of sliceFaultsIn(value))
      issues.push({ code: "custom", input: value, path: [...path], message });
  })
  .meta({ id: "SubmittedSpec" });

/** The spec inside a schedule. Its latest start can be a field of the schedule instead. */
export const scheduledSpec = specWithoutEnd.meta({ id: "ScheduledSpec" });

/** A spec with every field, as the control plane stores it. */
export type WorkloadSpec = z.output<typeof workloadSpec>;
/** A spec in the form in which it can be submitted. */
export type WorkloadSpecInput = z.input<typeof workloadSpec>;
export type WorkloadKind = WorkloadSpec["kind"];

export type WrittenWorkload =
  | WrittenFields<typeof train.parts>
  | WrittenFields<typeof batch.parts>
  | WrittenFields<typeof serve.parts>;

/**
 * The workload in the form of the API. Paths are not resolved here, because only the reader of the file knows its
 * directory.
 */
export function workloadOf(written: WrittenWorkload): WorkloadSpec {
  switch (written.kind) {
    case "train":
      return train.toWire(written) as WorkloadSpec;
    case "batch":
      return batch.toWire(written) as WorkloadSpec;
    case "serve":
      return serve.toWire(written) as WorkloadSpec;
  }
}

function manifestOf(workload: WorkloadSpec): unknown {
  switch (workload.kind) {
    case "train":
      return train.toManifest(workload);
    case "batch":
      return batch.toManifest(workload);
    case "serve":
      return serve.toManifest(workload);
  }
}

/**
 * Converts a workload to the document from which reading gives the same workload, without default values. `fromDue`:
 * durations of the schedule that contains it.
 */
export function workloadDocument(workload: WorkloadSpec, fromDue: FromDue = {}): Record<string, unknown> {
  return withFromDue(manifestOf(workload) as Record<string, unknown>, fromDue);
}
