/** Reads the kinds of Kubernetes objects that run pods: how many workers, whether they start together, and how often they are retried. */
import { writeDuration } from "../notation/quantities.ts";
import type { ManifestFields, FieldPath } from "./manifest-fields.ts";
import { readPod, type ManifestContext, type Worker } from "./pod.ts";

export interface Work {
  readonly worker: Worker;
  /** `gang`: all workers start together. `tasks`: each is a task of its own. */
  readonly form: "gang" | "tasks";
  readonly count: number;
  /** Tasks that run at the same time. */
  readonly atOnce: number | undefined;
  readonly isIndexed: boolean;
  /** Workers after which the index begins again; `undefined`: it is the rank in the gang. */
  readonly indexes?: number | undefined;
  readonly retriesMax: number;
  readonly walltime: string | undefined;
  readonly isHeld: boolean;
  readonly notes: readonly string[];
}

type Reader = (fields: ManifestFields, context: ManifestContext) => Work;

/** The backoffLimit of a Job that states none. */
const JOB_RETRIES = 6;
/** Pods that Kubernetes restarts without end. */
const RESTARTS = 1000;
const COUNT_MAX = 1_000_000;

const alone = {
  form: "gang",
  count: 1,
  atOnce: undefined,
  isIndexed: false,
  walltime: undefined,
  isHeld: false,
} as const;

interface KindRow {
  /** Versions of the API group to which the kind belongs: other groups have kinds of the same name with other fields. */
  readonly apiVersion: RegExp;
  readonly read: Reader;
}

export const kinds: Readonly<Record<string, KindRow>> = {
  Pod: { apiVersion: /^v1$/, read: readSinglePod },
  Job: { apiVersion: /^batch\/v/, read: (fields, context) => readJob(fields, ["spec"], context) },
  CronJob: {
    apiVersion: /^batch\/v/,
    read: (fields, context) => {
      if (fields.has(["spec", "suspend"])) fields.ignore(["spec", "suspend"], "headroom run starts the Job of it once");
      return readJob(fields, ["spec", "jobTemplate", "spec"], context);
    },
  },
  Deployment: { apiVersion: /^(?:apps|extensions)\/v/, read: readReplicas },
  ReplicaSet: { apiVersion: /^(?:apps|extensions)\/v/, read: readReplicas },
  StatefulSet: { apiVersion: /^apps\/v/, read: readReplicas },
  PyTorchJob: { apiVersion: /^kubeflow\.org\/v/, read: readPyTorchJob },
  JobSet: { apiVersion: /^jobset\.x-k8s\.io\/v/, read: readJobSet },
};

/** Variables that Kubernetes adds to indexed Jobs, and the training operator to PyTorchJobs. */
const indexedVariables = ["JOB_COMPLETION_INDEX"];
const torchVariables = ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"];

function readSinglePod(fields: ManifestFields, context: ManifestContext): Work {
  const worker = readPod(fields, ["spec"], context);
  const path = ["spec", "restartPolicy"];
  const retriesMax = fields.at(path) === "Never" ? 0 : RESTARTS;
  readRestartPolicy(fields, path, `retries.max: ${retriesMax}`);
  return { ...alone, worker, retriesMax, notes: [] };
}

function readJob(fields: ManifestFields, job: FieldPath, context: ManifestContext): Work {
  const pod = [...job, "template", "spec"];
  const isIndexed = fields.at([...job, "completionMode"]) === "Indexed";
  const walltime = readDeadline(fields, [...job, "activeDeadlineSeconds"], pod);
  const worker = readPod(fields, pod, context, isIndexed ? indexedVariables : []);
  const [completions, parallelism] = [
    countAt(fields, [...job, "completions"]),
    countAt(fields, [...job, "parallelism"]),
  ];
  const count = completions ?? parallelism ?? 1;
  const isGang = count === 1 || (isIndexed && worker.hasSubdomain && (parallelism ?? 1) >= count);
  const size = isGang ? `gang.workers: ${count}` : `tasks: ${count}`;
  // A Job runs one pod at a time if it states nothing.
  const atOnce = isGang || (parallelism ?? 1) >= count ? undefined : (parallelism ?? 1);
  honourIf(fields, [...job, "completions"], size);
  honourIf(fields, [...job, "parallelism"], atOnce === undefined ? size : `tasksAtOnce: ${atOnce}`);
  honourIf(fields, [...job, "completionMode"], isIndexed ? "JOB_COMPLETION_INDEX is set" : "tasks are alike");
  const perIndex = countAt(fields, [...job, "backoffLimitPerIndex"], 0);
  const limit = countAt(fields, [...job, "backoffLimit"], 0);
  const retriesMax = Math.min(perIndex ?? limit ?? JOB_RETRIES, RESTARTS);
  honourIf(fields, [...job, "backoffLimitPerIndex"], `retries.max: ${retriesMax}`);
  if (perIndex === undefined) honourIf(fields, [...job, "backoffLimit"], `retries.max: ${retriesMax}, for each task`);
  readRestartPolicy(fields, [...pod, "restartPolicy"], "retries");
  return {
    worker,
    form: isGang ? "gang" : "tasks",
    count,
    atOnce,
    isIndexed,
    retriesMax,
    walltime,
    isHeld: readSuspend(fields, [...job, "suspend"]),
    notes:
      limit === undefined && perIndex === undefined
        ? [`As in Kubernetes, a failure is retried ${JOB_RETRIES} times.`]
        : [],
  };
}

/** Seconds for the whole Job; here they bound each attempt. The pod can state others, of which the fewer count. */
function readDeadline(fields: ManifestFields, path: FieldPath, pod: FieldPath): string | undefined {
  const seconds = countAt(fields, path);
  if (seconds === undefined) return undefined;
  const ofPod = fields.at([...pod, "activeDeadlineSeconds"]);
  if (typeof ofPod === "number" && ofPod < seconds) {
    fields.ignore(path, "the pod states fewer seconds, which count");
    return undefined;
  }
  if (typeof ofPod === "number")
    fields.ignore([...pod, "activeDeadlineSeconds"], `${path.at(-2)} states no more seconds, which count`);
  const walltime = writeDuration(seconds * 1000);
  fields.honour(path, `walltime: ${walltime}, of each attempt`);
  return walltime;
}

function readSuspend(fields: ManifestFields, path: FieldPath): boolean {
  const value = fields.at(path);
  if (value !== undefined && typeof value !== "boolean") fields.refuse(path, "must be true or false");
  const isSuspended = value === true;
  honourIf(fields, path, isSuspended ? "is submitted held: headroom release starts it" : "is not held");
  return isSuspended;
}

function readReplicas(fields: ManifestFields, context: ManifestContext): Work {
  const worker = readPod(fields, ["spec", "template", "spec"], context);
  const path = ["spec", "replicas"];
  const count = countAt(fields, path) ?? 1;
  honourIf(fields, path, `tasks: ${count}`);
  readRestartPolicy(fields, ["spec", "template", "spec", "restartPolicy"], "retries");
  return {
    ...alone,
    worker,
    form: "tasks",
    count,
    retriesMax: RESTARTS,
    notes: [
      "Each replica is a task that is retried when it fails; one that ends with exit code 0 is not started again, and no address stands in front of them.",
    ],
  };
}

function readPyTorchJob(fields: ManifestFields, context: ManifestContext): Work {
  const specs: FieldPath = ["spec", "pytorchReplicaSpecs"];
  const roles = ["Master", "Worker"].filter((role) => fields.has([...specs, role]));
  const [first = "Worker", second] = roles;
  const pod = [...specs, first, "template", "spec"];
  const walltime = readDeadline(fields, ["spec", "runPolicy", "activeDeadlineSeconds"], pod);
  const worker = readPod(fields, pod, context, torchVariables);
  const count = roles.reduce((sum, role) => sum + (countAt(fields, [...specs, role, "replicas"]) ?? 1), 0);
  for (const role of roles) {
    honourIf(fields, [...specs, role, "replicas"], `gang.workers: ${count}`);
    const path = [...specs, role, "restartPolicy"];
    if (role !== first && fields.at(path) !== fields.at([...specs, first, "restartPolicy"]))
      fields.ignore(path, `differs from ${first}, which counts`);
    else readRestartPolicy(fields, path, "retries");
  }
  if (second !== undefined) {
    const [left, right] = [first, second].map((role) =>
      JSON.stringify(fields.at([...specs, role, "template", "spec"])),
    );
    if (left === right) fields.honour([...specs, second, "template", "spec"], "workers of the same gang");
    else
      fields.refuse(
        [...specs, second, "template"],
        `differs from ${first}; declare task groups in a workload file (gang.taskGroups)`,
      );
  }
  const limitPath = ["spec", "runPolicy", "backoffLimit"];
  const limit = countAt(fields, limitPath, 0);
  const isNever = fields.at([...specs, first, "restartPolicy"]) === "Never";
  const retriesMax = isNever ? 0 : Math.min(limit ?? JOB_RETRIES, RESTARTS);
  honourIf(fields, limitPath, `retries.max: ${retriesMax}`);
  return {
    ...alone,
    worker,
    count: Math.max(1, count),
    retriesMax,
    walltime,
    isHeld: readSuspend(fields, ["spec", "runPolicy", "suspend"]),
    notes: [],
  };
}

function readJobSet(fields: ManifestFields, context: ManifestContext): Work {
  const jobs = fields.list(["spec", "replicatedJobs"]);
  for (let index = 1; index < jobs.length; index++)
    fields.refuse(
      ["spec", "replicatedJobs", index],
      "is a further group of workers; declare task groups in a workload file (gang.taskGroups)",
    );
  const first: FieldPath = ["spec", "replicatedJobs", 0];
  const job: FieldPath = [...first, "template", "spec"];
  const parallelism = countAt(fields, [...job, "parallelism"]) ?? 1;
  const replicas = countAt(fields, [...first, "replicas"]) ?? 1;
  const workers = parallelism * replicas;
  const completions = fields.at([...job, "completions"]);
  if (completions !== undefined && completions !== parallelism)
    fields.refuse([...job, "completions"], "differs from parallelism; the workers of a gang start together");
  for (const path of [
    [...first, "replicas"],
    [...job, "parallelism"],
    [...job, "completions"],
  ])
    honourIf(fields, path, `gang.workers: ${workers}`);
  honourIf(fields, [...first, "name"], "the workers of the gang");
  const work = readJob(fields, job, context);
  const isHeld = readSuspend(fields, ["spec", "suspend"]) || work.isHeld;
  const indexes = replicas > 1 ? parallelism : undefined;
  return { ...work, form: "gang", count: workers, atOnce: undefined, indexes, isHeld };
}

function readRestartPolicy(fields: ManifestFields, path: FieldPath, becomes: string): void {
  const isKnown = /^(?:Always|OnFailure|Never|ExitCode)$/.test(fields.text(path) ?? "");
  if (fields.has(path) && !isKnown) fields.refuse(path, "must be Always, OnFailure or Never");
  honourIf(fields, path, becomes);
}

function honourIf(fields: ManifestFields, path: FieldPath, becomes: string): void {
  if (fields.has(path)) fields.honour(path, becomes);
}

/** `undefined`: the field is absent, or refused. */
function countAt(fields: ManifestFields, path: FieldPath, least = 1): number | undefined {
  const value = fields.at(path);
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= COUNT_MAX) return value;
  fields.refuse(path, value === 0 ? "starts nothing" : `must be a whole number from ${least} to ${COUNT_MAX}`);
  return undefined;
}
