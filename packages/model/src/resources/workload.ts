/** Workloads: submitted specs and their state. Durations in ms, memory in MiB, cores in thousandths. */
import type { EndpointAccount, EndpointBudget } from "./endpoint-budget.ts";
import type { AntiAffinitySpec } from "./anti-affinity.ts";
import type { WorkerExit, Checkpoint, EndedAttempt } from "./attempt.ts";
import { isRegistered } from "./artifact.ts";
import type { DataSpec } from "./data.ts";
import type { AttemptId, TeamName, WorkloadId } from "./ids.ts";
import type { Rollout, RolloutSpec } from "./rollout.ts";
import type { WorkloadTasks } from "./task.ts";

/** Resources of one worker, all on one node. */
export interface WorkerShape {
  readonly accelerators: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /** Network bandwidth of the node that the worker reserves; absent: none. */
  readonly networkGbps?: number;
  /** Thousandths of one accelerator, for a worker that shares it (`accelerators` is 1); absent: whole accelerators. */
  readonly shareMilli?: number;
  /**
   * MiB of memory of one accelerator, for a worker that shares it (`accelerators` is 1): the node determines the
   * fraction. Excludes `shareMilli`, except in the shape of a placed worker, where `shareMilli` is that fraction.
   */
  readonly acceleratorMemoryMib?: number;
  /**
   * MIG profile (`mig.ts`), for a worker with a slice of one accelerator (`accelerators` is 1). Excludes `shareMilli`.
   */
  readonly profile?: string;
}

/** Resources of one worker, and the number of workers that start together or not at all. */
export interface GangSpec extends WorkerShape {
  /** Maximum number of workers; with a smaller `minWorkers` the gang is elastic. */
  readonly workers: number;
  /** Minimum number of workers, from which the gang can grow to `workers`; absent: `workers`. */
  readonly minWorkers?: number;
  /**
   * Throughput of 1, 2, … `workers` workers, in thousandths of a single worker's; absent: unknown. Only ratios count,
   * so a gang that never runs with one worker may state it relative to any size of its own.
   */
  readonly throughputMilli?: readonly number[];
  /**
   * Groups of unlike workers that start together or not at all; absent: all workers are alike. With groups, `workers`
   * and `minWorkers` are sums, and the gang's own shape is the maximum over the groups.
   */
  readonly taskGroups?: readonly TaskGroup[];
  readonly antiAffinity?: AntiAffinitySpec;
}

/** Workers of one kind in a gang with several kinds, such as prefill and decode workers. */
export interface TaskGroup extends WorkerShape {
  readonly name: string;
  readonly workers: number;
  /** Minimum number of workers of the group; absent: all. */
  readonly minWorkers?: number;
  /** Accepted types in order of preference, one for the whole group; absent: as the workload states. */
  readonly acceleratorTypes?: readonly string[];
  /** Fabric constraints of the group, in addition to the workload's own. */
  readonly fabric?: FabricSpec;
}

/** Minimum number of workers with which a gang or task group runs. */
export const minWorkersOf = (gang: Pick<GangSpec, "workers" | "minWorkers">): number => gang.minWorkers ?? gang.workers;

/** Fabric constraints of a gang. Levels are the site's names, or `node`. */
export interface FabricSpec {
  /** All workers must be in one domain of this level. */
  readonly within?: string;
  /** Preferred level: the gang is placed in one domain as narrow as possible, from this level up to `within`. */
  readonly prefer?: string;
  /** Slices: this number of workers must share a domain. */
  readonly slices?: readonly { readonly workers: number; readonly within: string }[];
}

/**
 * Spreads workers over the values of a label: at most `maxPerDomain` workers of the gang on nodes with the same value.
 */
export interface SpreadSpec {
  readonly topologyKey: string;
  readonly maxPerDomain: number;
}

/** A dependency: work must have ended with a certain outcome, or produced an artifact, before this work starts. */
export type AfterSpec = AfterEnd | AfterArtifact;

export interface AfterEnd {
  /** Name of a workload of the same team, or its id. */
  readonly workload: string;
  readonly on: "ok" | "failed" | "any";
}

/**
 * A dependency on an artifact: the work may start when the artifact is reported, and gets its location in an
 * environment variable.
 */
export interface AfterArtifact {
  readonly artifact: string;
  /** Name of a workload of the same team, or its id; absent: the team's newest workload that produces the artifact. */
  readonly workload?: string;
}

/** An artifact that work has produced, with its location. */
export interface ProducedArtifact {
  readonly name: string;
  readonly path: string;
  /** Id of the registered version (`artifact.ts`). Absent: the artifact is not registered. */
  readonly version?: string;
  /** The attempt that reported an artifact that is to be registered. */
  readonly by?: AttemptId;
}

/**
 * The work starts only while power is cheap or clean enough, or at its latest start, or when its deadline requires it.
 */
export interface StartWindowSpec {
  readonly microUsdPerKwhMax?: number;
  readonly gramsPerKwhMax?: number;
  /**
   * Starts only in the cheapest (or cleanest) periods of this total length before the latest start, by the known
   * tariffs.
   */
  readonly cheapestMs?: number;
  readonly cleanestMs?: number;
  readonly latestStartMs?: number;
}

/** Conditions of a start window other than the latest start. */
export type StartWindowCondition = Exclude<keyof StartWindowSpec, "latestStartMs">;

/** Notifications about the workload, to channels that the operator of the control plane declared. */
export interface NotifySpec {
  /** Names of channels. */
  readonly to: readonly string[];
  readonly on: readonly NotifyOccasion[];
}

/** `nodeLoss`: a node of its running work is lost. `maintenance`: a window or a notice stops its running work. */
export type NotifyOccasion = "start" | "end" | "nodeLoss" | "maintenance";

export interface RetrySpec {
  /** Maximum number of failures of a task; only exits of its own count, not lost nodes. */
  readonly max: number;
  /** Back-off before the first retry; doubles with each further one up to `backoffMaxMs`. */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  /** A first attempt that fails within this time of its start is not retried, because its command is wrong. */
  readonly quickFailureMs?: number;
}

/** Secrets of a Kubernetes cluster by their names. Their values never reach the control plane. */
export interface SecretReferences {
  /** `SECRET/KEY` by the name of the variable that gets its value. */
  readonly env?: Readonly<Record<string, string>>;
  /** Secrets whose keys all become variables. */
  readonly envFrom?: readonly string[];
  /** Secrets with which the image is pulled. */
  readonly pull?: readonly string[];
}

interface SpecCommon {
  readonly name: string;
  readonly team: TeamName;
  /** A shell command line, run by `/bin/sh -c` in `dir`. */
  readonly run: string;
  /** Absolute working directory; `null`: the attempt's own. */
  readonly dir: string | null;
  readonly env: Readonly<Record<string, string>>;
  /** Container image in which the workers run. Absent: they run with the programs of the node. */
  readonly image?: string;
  /** Secrets of the cluster that the workers get. Absent: none. */
  readonly secrets?: SecretReferences;
  readonly gang: GangSpec;
  /** Accelerator types in order of preference; empty: any. A gang never mixes types. */
  readonly acceleratorTypes: readonly string[];
  /**
   * True: the work may wait for a type that no node has; otherwise the API refuses it. Decisions do not read this
   * field.
   */
  readonly waitForType?: true;
  /** Larger priorities go first, if the policy orders by priority. */
  readonly priority: number;
  /** Maximum run time from the start of the attempt; `null`: unlimited. */
  readonly walltimeMs: number | null;
  readonly retries: RetrySpec;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceTimeoutMs: number;
  /** `null`: the executor keeps one directory for each workload. */
  readonly checkpointDir: string | null;
  /** True: the work writes and reports a checkpoint on request. */
  readonly checkpointOnRequest?: true;
  /** Time between checkpoints, ms; `auto`: chosen by the failure rate of the fleet; absent: the work decides. */
  readonly checkpointEvery?: number | "auto";
  /** Duration of one checkpoint, during which the work makes no progress, ms; `auto` chooses the interval by it. */
  readonly checkpointCostMs?: number;
  /** Store to which checkpoints are drained while the work goes on; absent: they stay where they are. Only for a train. */
  readonly checkpointStore?: string;
  /** Number of the newest stored checkpoints that are kept; absent: `CHECKPOINTS_KEPT`. */
  readonly checkpointKeep?: number;
  /** Stored checkpoints whose step is a multiple of it are kept too; absent: none. */
  readonly checkpointKeepEvery?: number;
  /** The stored checkpoint with the smallest (`min loss`) or largest (`max score`) metric is kept too; absent: none. */
  readonly checkpointKeepBest?: string;
  readonly fabric?: FabricSpec;
  /** Only nodes that carry these labels. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly spread?: SpreadSpec;
  /** Inputs of the work, and the rule of its data. */
  readonly data?: DataSpec;
  /** Whether the work may be evicted for other work; absent: as the policy states. */
  readonly preemptible?: boolean | "aboveGuarantee";
  /** Minimum run time before an eviction. */
  readonly minRuntimeMs?: number;
  /** Loss by an eviction in addition to the work since its last checkpoint, such as the restart, ms. */
  readonly restartCostMs?: number;
  /** Action if a running gang loses a node; absent: `restart`. */
  readonly onNodeLoss?: "replace" | "restart";
  readonly after?: readonly AfterSpec[];
  /**
   * Names of artifacts that the work reports when it has produced them. One in the notation of `artifact.ts`
   * (`model:chat`) is registered as a version when the attempt that reported it succeeds.
   */
  readonly produces?: readonly string[];
  readonly hold?: true;
  readonly notBeforeMs?: number;
  /** Time by which the work should be done. */
  readonly deadlineMs?: number;
  readonly startWindow?: StartWindowSpec;
  /** Decisions do not read this field. */
  readonly notify?: NotifySpec;
}

/** Bounds of the number of replicas of an endpoint. The present number is `Workload.scale`. */
export interface ReplicaRange {
  readonly min: number;
  readonly max: number;
}

/** How an executor finds out that a replica can take requests: an HTTP request to a path on its port. */
export interface ReadinessSpec {
  readonly path: string;
  /** Time from the start within which a replica must become ready; otherwise it is restarted. */
  readonly timeoutMs: number;
}

/** The largest latency that a share of the requests may have. At least one is stated. */
export interface LatencyTarget {
  readonly p95Ms?: number;
  readonly p99Ms?: number;
}

/** A target for a value that a metric source reads about the endpoint. One of the amounts is stated, in thousandths. */
export interface ScaleMetric {
  /** Name of the value in the series of the endpoint. */
  readonly name: string;
  /** Metric source with the value; absent: the only one that has it. */
  readonly source?: string;
  /** The value is an amount that replicas share, such as a length of a queue. */
  readonly perReplicaMilli?: number;
  /** The value is a level that falls when replicas are added, such as a utilisation. */
  readonly levelMilli?: number;
}

/**
 * How the number of replicas follows traffic, by targets for each replica or for requests. The control plane reads the
 * targets and sends `scaleEndpoint`; decisions do not read them.
 */
export interface ScaleTargets {
  /** Requests in progress for each replica, in thousandths. */
  readonly concurrencyMilli?: number;
  /** Requests per second for each replica, in thousandths. */
  readonly requestsPerSecondMilli?: number;
  /** Mean time for which requests wait before a replica works on them. */
  readonly queueTimeMs?: number;
  /** Time to the first token. */
  readonly ttft?: LatencyTarget;
  /** Time per output token after the first. */
  readonly tpot?: LatencyTarget;
  /** Readings of metric sources about the endpoint; absent: none. */
  readonly metrics?: readonly ScaleMetric[];
  /** Time without requests after which an endpoint with a minimum of 0 has no replicas; absent: it keeps one. */
  readonly idleToZeroMs?: number;
  /** Time for which fewer replicas must have been enough before some are stopped. */
  readonly downAfterMs: number;
}

/**
 * Where requests go while no replica takes them or the replicas are saturated. Gateways read it; decisions do not. Either
 * `provider`, a pool of the gateway, or `endpoint`, as `TEAM/NAME`.
 */
export interface OverflowSpec {
  readonly provider?: string;
  readonly endpoint?: string;
  /** Wait in the queues of the replicas from which requests leave. */
  readonly queueTimeMs?: number;
  /** Requests in progress for each ready replica from which requests leave, in thousandths. */
  readonly concurrencyMilli?: number;
  /** Absent: unlimited. */
  readonly budget?: { readonly microUsd: number; readonly period: "day" | "month" };
  /** Data rules of requests that may leave; `unmarked`: those without a rule. */
  readonly dataRules: readonly string[];
}

/**
 * `train`: one gang. `batch`: an array of independent tasks, each a gang of its own with `HEADROOM_TASK_INDEX`.
 * `serve`: an endpoint whose replicas are tasks, restarted whenever they end.
 */
export type WorkloadSpec =
  | (SpecCommon & { readonly kind: "train" })
  | (SpecCommon & {
      readonly kind: "serve";
      readonly replicas: ReplicaRange;
      readonly ready: ReadinessSpec;
      /** Absent: commands alone change the number of replicas. */
      readonly scale?: ScaleTargets;
      /**
       * Name under which the gateway serves the model; absent: the name of the workload. An artifact (`model:chat@3`) is
       * resolved at the submission, given to the replicas, and served under its name (`chat`).
       */
      readonly servedModel?: string;
      /** Absent: a changed revision replaces the replicas one after another. */
      readonly rollout?: RolloutSpec;
      /** Absent: requests wait in the gateway, or are refused. */
      readonly overflow?: OverflowSpec;
      /** Absent: the budgets of its teams alone bound it. */
      readonly budget?: EndpointBudget;
    })
  | (SpecCommon & {
      readonly kind: "batch";
      readonly taskCount: number;
      /** Maximum number of tasks with an attempt at one time; absent: as many as fit. */
      readonly tasksAtOnce?: number;
    });

/** A pending dependency: an outcome of a workload, or one of its artifacts. */
export type WaitsFor =
  | { readonly workloadId: WorkloadId; readonly on: AfterEnd["on"] }
  | { readonly workloadId: WorkloadId; readonly on: "artifact"; readonly artifact: string };

/** Whether work with this outcome satisfies the dependency. */
export const meets = (on: WaitsFor["on"], phase: WorkloadPhase): boolean =>
  on === "any" || (on !== "artifact" && (on === "ok") === (phase === "succeeded"));

export type WorkloadPhase = "pending" | "running" | "stopping" | "succeeded" | "failed" | "cancelled";

export interface Workload extends WorkloadTasks {
  readonly id: WorkloadId;
  /** Position in the order of submission; the last tie-breaker between workloads. */
  readonly ordinal: number;
  readonly spec: WorkloadSpec;
  readonly submittedAtMs: number;
  /** The submitting user, as declared by the holder of the state directory's token, or of the access token (decisions 18 and 32). */
  readonly actor: string;
  readonly phase: WorkloadPhase;
  readonly stopRequested: boolean;
  readonly activeAttempts: readonly AttemptId[];
  readonly succeededCount: number;
  /** Tasks that were given up; tasks stopped by a cancellation are not counted. */
  readonly failedCount: number;
  /** Number of reruns of the ended workload, and the time of the last one; absent: none. */
  readonly rerun?: { readonly count: number; readonly atMs: number };
  /** The newest ended attempts, oldest first, at most `ENDED_ATTEMPTS_KEPT`. */
  readonly endedAttempts: readonly EndedAttempt[];
  readonly checkpoint: Checkpoint | null;
  readonly firstStartedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly endReason: EndReason | null;
  /** The number of replicas that the endpoint should have, and why; absent: the workload is no endpoint. */
  readonly scale?: EndpointScale;
  /** Money that the endpoint spent; absent: it has no budget. */
  readonly account?: EndpointAccount;
  /** Number of the revision that the replicas run; absent: 1. */
  readonly revisionNumber?: number;
  /** The rollout of the next revision; absent: none is in progress. */
  readonly rollout?: Rollout;
  /** True while the workload is held; otherwise absent. */
  readonly held?: true;
  /** True while power is too expensive or too carbon-intensive for it; otherwise absent. */
  readonly waitsForStartWindow?: true;
  /**
   * Number of workers that were lost with their nodes when the gang last stopped; they may be placed on hot spares.
   * Absent: none.
   */
  readonly lostWorkers?: number;
  /** Pending dependencies; absent: none. */
  readonly waitsFor?: readonly WaitsFor[];
  /** Artifacts produced so far, each as last reported; absent: none. */
  readonly artifacts?: readonly ProducedArtifact[];
  /** Artifacts of other work for which this workload waited; absent: none. */
  readonly given?: readonly ProducedArtifact[];
}

/** The last decision about the number of replicas of an endpoint. */
export interface EndpointScale {
  readonly replicas: number;
  /** The number before the decision; 0 at the submission. */
  readonly from: number;
  readonly atMs: number;
  readonly actor: string;
  readonly ground: ScaleGround;
  /** Ready replicas that stop first if there are too many, in this order; absent: the youngest stop first. */
  readonly stopFirst?: readonly AttemptId[];
  /** Accepted accelerator types in the order in which missing replicas take them; absent: that of the spec. */
  readonly acceleratorTypes?: readonly string[];
}

/**
 * Why the number of replicas changed. `submitted`: the initial number. `bounds`: the range of replicas changed. `budgetSpent`,
 * `budgetRenewed`: the budget of the endpoint.
 */
export type ScaleGround =
  | { readonly kind: "submitted" }
  | { readonly kind: "requested" }
  | { readonly kind: "bounds" }
  | { readonly kind: "budgetSpent" }
  | { readonly kind: "budgetRenewed" }
  | LoadGround;

/**
 * The load of the endpoint. Numbers are thousandths of the unit of the cause: requests, requests per second, ms, or that of the
 * value of a metric source. `idle` has the time without requests, `held` the requests that wait for a first replica.
 */
export interface LoadGround {
  readonly kind: "load";
  readonly cause: "concurrency" | "requestsPerSecond" | "queueTime" | "ttft" | "tpot" | "held" | "idle" | "metric";
  /** Name of the value of a metric source, with the cause `metric`. */
  readonly metric?: string;
  readonly measuredMilli: number;
  readonly targetMilli: number;
  /** Replicas that the load needs when a start that begins now would be ready, in thousandths. */
  readonly neededMilli: number;
  /** The time until then, as the endpoint's own starts took. */
  readonly aheadMs: number;
}

export type EndReason =
  | { readonly kind: "allTasksSucceeded" }
  /** For an array: number of tasks that were given up. */
  | { readonly kind: "tasksFailed"; readonly failedCount: number }
  | { readonly kind: "retriesExhausted"; readonly failures: number; readonly exit: WorkerExit | null }
  | { readonly kind: "walltimeExceeded"; readonly walltimeMs: number }
  | { readonly kind: "cancelled" }
  /** A dependency ended with another outcome. */
  | { readonly kind: "dependencyNotMet"; readonly workloadId: WorkloadId; readonly on: WaitsFor["on"] };

export const compareOrdinals = (left: Workload, right: Workload): number => left.ordinal - right.ordinal;

/** Whether the control plane's executor has to upload what the work makes: registered artifacts, or its checkpoints. */
export const asksForUploads = (spec: UploadFields): boolean =>
  spec.checkpointStore !== undefined || uploadsArtifacts(spec);

type UploadFields = Pick<WorkloadSpec, "data" | "checkpointStore" | "produces">;

const uploadsArtifacts = ({ data, produces }: UploadFields): boolean =>
  data?.store !== undefined && produces?.some(isRegistered) === true;

/** Directories that the work names, and from which it uploads: the one in which it runs, and that of its checkpoints. */
export const uploadDirsOf = (spec: UploadFields & Pick<WorkloadSpec, "dir" | "checkpointDir">): readonly string[] => [
  ...(spec.dir !== null && uploadsArtifacts(spec) ? [spec.dir] : []),
  ...(spec.checkpointDir !== null && spec.checkpointStore !== undefined ? [spec.checkpointDir] : []),
];
