/** Workloads: submitted specs and their state. Durations in ms, memory in MiB, cores in thousandths. */
import type { AntiAffinitySpec } from "./anti-affinity.ts";
import type { AcceleratorSet } from "./accelerator-set.ts";
import type { ClosedBy } from "./calendar.ts";
import type { DataSpec } from "./data.ts";
import type { AttemptId, NodeId, TeamName, WorkloadId } from "./ids.ts";
import type { WorkloadTasks } from "./task.ts";

/** Resources of one worker, all on one node. */
export interface WorkerShape {
  readonly accelerators: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /** Bandwidth, in Gbps, that the worker reserves of its node's network. Absent: none. */
  readonly networkGbps?: number;
  /**
   * Thousandths of one accelerator, for a worker that shares an accelerator (`accelerators` is 1). Absent: the worker
   * holds whole accelerators.
   */
  readonly shareMilli?: number;
  /**
   * Memory in MiB of one accelerator, for a worker that shares an accelerator (`accelerators` is 1). The fraction
   * follows from the node. Only the shape of a placed worker has `shareMilli` too: there it is the resulting fraction.
   */
  readonly acceleratorMemoryMib?: number;
  /**
   * MIG profile (`mig.ts`) of a worker with a slice of one accelerator (`accelerators` is 1). It excludes `shareMilli`.
   */
  readonly profile?: string;
}

/** Resources of one worker, and the number of workers that start together or not at all. */
export interface GangSpec extends WorkerShape {
  /** Maximum number of workers. If `minWorkers` is smaller, the gang is elastic. */
  readonly workers: number;
  /** Number of workers with which the gang can start; it then grows up to `workers`. Absent: the same as `workers`. */
  readonly minWorkers?: number;
  /**
   * Throughput of the gang with 1, 2, … `workers` workers, in thousandths of a single worker's throughput. Absent: it
   * is unknown. Only ratios count, so a gang that never runs with one worker may use any of its sizes as the unit.
   */
  readonly throughputMilli?: readonly number[];
  /**
   * Groups of unlike workers that start together or not at all; absent: all workers are alike. If there are groups,
   * `workers` and `minWorkers` are sums over the groups, and each resource of the gang's own shape is the maximum over
   * the groups.
   */
  readonly taskGroups?: readonly TaskGroup[];
  readonly antiAffinity?: AntiAffinitySpec;
}

/** Workers of one kind in a gang with several kinds, such as prefill and decode workers. */
export interface TaskGroup extends WorkerShape {
  readonly name: string;
  readonly workers: number;
  /** Minimum number of workers of the group. Absent: the group needs all of its workers. */
  readonly minWorkers?: number;
  /**
   * Accelerator types that the group accepts, in order of preference. All workers of the group get the same type.
   * Absent: the workload's types apply.
   */
  readonly acceleratorTypes?: readonly string[];
  /** Fabric constraints of the group, in addition to the workload's own. */
  readonly fabric?: FabricSpec;
}

/** Minimum number of workers with which a gang or a task group can run. */
export const minWorkersOf = (gang: Pick<GangSpec, "workers" | "minWorkers">): number => gang.minWorkers ?? gang.workers;

/** Fabric constraints of a gang. A level is the name of one of the site's fabric levels, or `node`. */
export interface FabricSpec {
  /** All workers must be in one domain of this level. */
  readonly within?: string;
  /**
   * Preferred level: the gang is placed in a single domain, as narrow as possible, from this level upwards as far as
   * `within`.
   */
  readonly prefer?: string;
  /** Slices: each slice of `workers` workers must be inside one domain of the level `within`. */
  readonly slices?: readonly { readonly workers: number; readonly within: string }[];
}

/**
 * Spreads the workers of a gang over the values of a node label: at most `maxPerDomain` workers are on nodes with the
 * same value.
 */
export interface SpreadSpec {
  readonly topologyKey: string;
  readonly maxPerDomain: number;
}

/**
 * A dependency: before this work starts, other work must have ended with a certain outcome, or must have produced an
 * artifact.
 */
export type AfterSpec = AfterEnd | AfterArtifact;

export interface AfterEnd {
  /** Name of a workload of the same team, or its id. */
  readonly workload: string;
  readonly on: "ok" | "failed" | "any";
}

/**
 * A dependency on an artifact. The work may start when the artifact has been reported. An environment variable contains
 * the location of the artifact.
 */
export interface AfterArtifact {
  readonly artifact: string;
  /** Name of a workload of the same team, or its id. Absent: the team's newest workload that produces the artifact. */
  readonly workload?: string;
}

/** An artifact that work has produced, with its location. */
export interface Artifact {
  readonly name: string;
  readonly path: string;
}

/**
 * The work starts only while power is cheap or clean enough. At its latest start, or when its deadline requires it, it
 * starts at any price.
 */
export interface StartWindowSpec {
  readonly microUsdPerKwhMax?: number;
  readonly gramsPerKwhMax?: number;
  /**
   * The work starts only in the cheapest or cleanest periods before its latest start, according to the known tariffs.
   * The periods together have this length.
   */
  readonly cheapestMs?: number;
  readonly cleanestMs?: number;
  readonly latestStartMs?: number;
}

/** Conditions of a start window other than the latest start. */
export type StartWindowCondition = Exclude<keyof StartWindowSpec, "latestStartMs">;

export interface RetrySpec {
  /** Maximum number of failures of a task. Only exits of the task itself count, not lost nodes. */
  readonly max: number;
  /** Back-off before the first retry; doubles with each further one up to `backoffMaxMs`. */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
}

interface SpecCommon {
  readonly name: string;
  readonly team: TeamName;
  /** A shell command line, run by `/bin/sh -c` in `dir`. */
  readonly run: string;
  /** Absolute path of the working directory, or `null` for the attempt's own directory. */
  readonly dir: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly gang: GangSpec;
  /** Accepted accelerator types in order of preference. Empty: any type is accepted. A gang never mixes types. */
  readonly acceleratorTypes: readonly string[];
  /**
   * True if the work may wait for a type that no node has. If absent, the API refuses such work. Decisions do not read
   * this field.
   */
  readonly waitForType?: true;
  /** Work with a larger priority goes first, if the policy orders by priority. */
  readonly priority: number;
  /** Maximum run time, counted from the start of the attempt, or `null` if it is unlimited. */
  readonly walltimeMs: number | null;
  readonly retries: RetrySpec;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceTimeoutMs: number;
  /** Directory for checkpoints, or `null` if the executor chooses one directory for each workload. */
  readonly checkpointDir: string | null;
  /** True if the work writes a checkpoint on request and reports it, otherwise absent. */
  readonly checkpointOnRequest?: true;
  /**
   * Time between checkpoints in ms, or `auto` if it is chosen by the failure rate of the fleet. Absent: the work
   * decides.
   */
  readonly checkpointEvery?: number | "auto";
  /**
   * Time in ms that one checkpoint takes, during which the work makes no progress. `auto` chooses the interval by it.
   */
  readonly checkpointCostMs?: number;
  readonly fabric?: FabricSpec;
  /** The work runs only on nodes that carry all of these labels. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly spread?: SpreadSpec;
  /** Data sets that the work reads, and its data rule. */
  readonly data?: DataSpec;
  /** Whether the work may be evicted for other work. Absent: the policy decides. */
  readonly preemptible?: boolean | "aboveGuarantee";
  /** Time that the work runs before it can be evicted. */
  readonly minRuntimeMs?: number;
  /**
   * Time in ms that an eviction costs in addition to the work since the last checkpoint, for example for the restart.
   */
  readonly restartCostMs?: number;
  /** Action if a running gang loses a node. Absent: `restart`. */
  readonly onNodeLoss?: "replace" | "restart";
  readonly after?: readonly AfterSpec[];
  /** Names of the artifacts that the work produces. The work reports each one when it is ready. */
  readonly produces?: readonly string[];
  readonly hold?: true;
  readonly notBeforeMs?: number;
  /** Time by which the work should be done. */
  readonly deadlineMs?: number;
  readonly startWindow?: StartWindowSpec;
}

/** `train`: one gang. `batch`: an array of independent tasks, each a gang of its own with `HEADROOM_TASK_INDEX`. */
export type WorkloadSpec =
  | (SpecCommon & { readonly kind: "train" })
  | (SpecCommon & { readonly kind: "batch"; readonly taskCount: number });

export function taskCountOf(spec: WorkloadSpec): number {
  return spec.kind === "batch" ? spec.taskCount : 1;
}

/**
 * Allocation of one worker. `Attempt.workers` lists the allocations in the order of ranks. A worker with a part of an
 * accelerator names exactly one accelerator.
 */
export interface WorkerAllocation {
  readonly node: NodeId;
  readonly accelerators: AcceleratorSet;
  /** First memory slice of the worker's MIG instance. Absent: the worker has no MIG instance. */
  readonly slice?: number;
  /**
   * Thousandths of the accelerator that the requested `acceleratorMemoryMib` takes on this node. Absent: the worker
   * requested no accelerator memory.
   */
  readonly shareMilli?: number;
  /** Index of the worker's group in `GangSpec.taskGroups`. Absent: the gang has no task groups. */
  readonly taskGroup?: number;
}

/** A place that is reserved for a task until terminating work has ended. */
export interface Nomination {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  readonly number: number;
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
  /**
   * True if the place is for further workers of the running attempt with this id. False if it is for the start of the
   * attempt.
   */
  readonly growth: boolean;
  readonly atMs: number;
  /**
   * End of the back-off, before which the task is not launched. Absent: it is launched as soon as the place is free.
   */
  readonly notBeforeMs?: number;
  /**
   * The running attempt of the same task that must end first because the task migrates. Absent: there is none, or it
   * has ended.
   */
  readonly afterAttempt?: AttemptId;
}

/** Reason for stopping an attempt before it ends by itself. */
export type StopReason = "cancelled" | "walltimeExceeded" | "nodeDrained" | "nodeLost" | "budgetSpent" | EvictionReason;

/**
 * Reason of an eviction. `preempted`: for work of higher priority in its own team. `reclaimed`: for a guarantee or a
 * fair share. `moved`: migrated to free capacity. `incomplete`: its gang fell below its minimum.
 */
export type EvictionReason = (typeof EVICTION_REASONS)[number];

const EVICTION_REASONS = ["preempted", "reclaimed", "moved", "incomplete"] as const;
const evictionReasons: ReadonlySet<string> = new Set(EVICTION_REASONS);

/** Whether a stop for this reason is an eviction: the work stops counting for its team at once. */
export const isEviction = (reason: string): reason is EvictionReason => evictionReasons.has(reason);

/**
 * Whether an eviction for this reason belongs to a preemption plan. A gang that fell below its minimum is evicted
 * without a plan.
 */
export const isPlannedEviction = (reason: string): boolean => reason !== "incomplete" && isEviction(reason);

/** Ranks of the workers of an attempt, in the order of `workers`. Missing ranks are left out. */
export function ranksOf({ workers, missing = [] }: Pick<Attempt, "workers" | "missing">): readonly number[] {
  const all = Array.from({ length: workers.length + missing.length }, (_, rank) => rank);
  return missing.length === 0 ? all : all.filter((rank) => !missing.includes(rank));
}

/** A stop in progress: its time and reason. */
export interface AttemptStop {
  readonly reason: StopReason;
  readonly atMs: number;
  /**
   * Time limit of the checkpoint that was requested before the stop. Absent: no checkpoint was requested, and the
   * executor was asked at `atMs` to stop the attempt.
   */
  readonly checkpointUntilMs?: number;
  /**
   * The calendar window or notice that causes the stop. Absent: neither does, or the stop was recorded by an older
   * version of the event.
   */
  readonly closedBy?: ClosedBy;
}

/** Latest time at which the attempt ends, if its executor stops it as requested. */
export const stoppedByMs = ({ atMs, checkpointUntilMs }: AttemptStop, graceTimeoutMs: number): number =>
  (checkpointUntilMs ?? atMs) + graceTimeoutMs;

export type WorkerExit =
  | { readonly kind: "exited"; readonly worker: number; readonly code: number }
  | { readonly kind: "signalled"; readonly worker: number; readonly signal: string };

/**
 * Cause of a lost attempt. `records`: the executor's records of the attempt are unreadable or not authentic.
 * `supervisor`: the supervisor process was killed. The workload itself can cause both, so the number of retries is
 * bounded.
 */
export type LossCause = "records" | "supervisor";

/**
 * `failed`: it ended by its own exit. `stopped`: the control plane stopped it. `lost`: its node, its launch or its
 * supervisor failed.
 */
export type AttemptOutcome = "succeeded" | "failed" | "stopped" | "lost";

export interface Attempt {
  readonly id: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  /** Number of the attempt within its task; 1 for the first attempt. */
  readonly number: number;
  readonly phase: "launching" | "running" | "stopping";
  /** Accelerator type of the workers. With task groups, the type of the first group that needs accelerators. */
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
  /** Journal sequence of the event that placed the attempt. */
  readonly placedSequence: number;
  readonly placedAtMs: number;
  readonly startedAtMs: number | null;
  readonly stop: AttemptStop | null;
  /** The newest recorded progress estimate. Other progress reports are in the telemetry store. */
  readonly progress: AttemptProgress | null;
  /** Utilization of the accelerators; only journals older than the telemetry store contain it. */
  readonly utilization?: AttemptUtilization;
  /** Time since which none of the attempt's accelerators has been busy. Absent: one is busy, or no report exists. */
  readonly idleSinceMs?: number;
  /** Workers that are being stopped while the gang continues, in the order of ranks. Absent: none. */
  readonly terminating?: readonly WorkerAllocation[];
  /**
   * Ranks whose workers were lost with their nodes and have no new place yet. `workers` contains the other ranks in
   * order. After a batch, ranks are missing only if the attempt is being stopped.
   */
  readonly missing?: readonly number[];
  /** Ranks that have a new place, but whose workers have not joined the gang yet. Absent: none. */
  readonly joining?: readonly number[];
  /** Predicted run time, with corrections. Absent: the walltime is used instead. */
  readonly prediction?: Prediction;
  /**
   * Time and detail of the failure of the last growth, since which the gang requests no further workers. Absent: the
   * gang may grow.
   */
  readonly joinFailure?: JoinFailure;
  /**
   * End of the back-off, until which the attempt holds its predecessor's place without being launched. Absent: it was
   * launched.
   */
  readonly launchAtMs?: number;
  /**
   * True if the attempt gave up its team's cells to other work of the team, and continues as opportunistic work.
   * Otherwise absent.
   */
  readonly opportunistic?: true;
}

/** Predicted run time, which plans use. It is never longer than the walltime. */
export interface Prediction {
  readonly durationMs: number;
  /** Number of earlier runs from which the prediction was computed. */
  readonly runs: number;
  /** Number of times that the run exceeded its prediction, which was extended each time. Absent: never. */
  readonly corrections?: number;
}

export interface JoinFailure {
  readonly atMs: number;
  /** Explanation from the executor's report. */
  readonly detail: string;
}

/** Reported utilisation of an attempt's accelerators: the last report, and the extremes over all reports. */
export interface AttemptUtilization {
  readonly atMs: number;
  readonly accelerators: number;
  readonly busyAccelerators: number;
  readonly busyMilli: number;
  /** Maximum number of busy accelerators over all reports. */
  readonly mostBusyAccelerators: number;
  /** Time of the last report with a busy accelerator. If there was none, the start of the attempt. */
  readonly busyAtMs: number;
  readonly peakMemoryMib: number | null;
  readonly capacityMib: number | null;
}

export interface AttemptProgress {
  readonly atMs: number;
  readonly step: number;
  readonly totalSteps: number | null;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface Checkpoint {
  readonly step: number;
  readonly path: string;
  readonly atMs: number;
  readonly attemptId: AttemptId;
}

/** The record of an ended attempt. */
export interface EndedAttempt {
  readonly id: AttemptId;
  readonly task: number;
  readonly number: number;
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
  readonly placedAtMs: number;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number;
  readonly outcome: AttemptOutcome;
  /** The worker exit that decided the outcome, or null if no exit did. */
  readonly exit: WorkerExit | null;
  /** One sentence for people, such as the launch error; `""` if the outcome needs no detail. */
  readonly detail: string;
  readonly stopReason: StopReason | null;
  /**
   * The calendar window or notice that caused the stop. Absent: neither did, or the stop was recorded by an older
   * version of the event.
   */
  readonly closedBy?: ClosedBy;
}

/** A dependency that is not met yet: an outcome of a workload, or one of its artifacts. */
export type WaitsFor =
  | { readonly workloadId: WorkloadId; readonly on: AfterEnd["on"] }
  | { readonly workloadId: WorkloadId; readonly on: "artifact"; readonly artifact: string };

/** Whether a workload in this phase meets the dependency. */
export const meets = (on: WaitsFor["on"], phase: WorkloadPhase): boolean =>
  on === "any" || (on !== "artifact" && (on === "ok") === (phase === "succeeded"));

export type WorkloadPhase = "pending" | "running" | "stopping" | "succeeded" | "failed" | "cancelled";

export interface Workload extends WorkloadTasks {
  readonly id: WorkloadId;
  /** Position of the workload in the order of submission. It breaks ties that no other rule decides. */
  readonly ordinal: number;
  readonly spec: WorkloadSpec;
  readonly submittedAtMs: number;
  /** The submitting user, as authenticated by the control plane. */
  readonly actor: string;
  readonly phase: WorkloadPhase;
  readonly stopRequested: boolean;
  readonly activeAttempts: readonly AttemptId[];
  readonly succeededCount: number;
  /** Number of tasks that were given up. Tasks that a cancellation stopped are not counted. */
  readonly failedCount: number;
  /** Number of times that the ended workload was rerun, and the time of the last rerun. Absent: it was never rerun. */
  readonly rerun?: { readonly count: number; readonly atMs: number };
  /** The newest ended attempts, oldest first, at most `ENDED_ATTEMPTS_KEPT`. */
  readonly endedAttempts: readonly EndedAttempt[];
  readonly checkpoint: Checkpoint | null;
  readonly firstStartedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly endReason: EndReason | null;
  /** True while the workload is held; otherwise absent. */
  readonly held?: true;
  /** True while power is too expensive or too carbon-intensive for the workload; otherwise absent. */
  readonly waitsForStartWindow?: true;
  /**
   * Number of workers that were lost with their nodes when the gang last stopped. They may be placed on hot spares.
   * Absent: none.
   */
  readonly lostWorkers?: number;
  /** Dependencies that are not met yet. Absent: none. */
  readonly waitsFor?: readonly WaitsFor[];
  /** Artifacts that the workload has produced, each with its last reported location. Absent: none. */
  readonly artifacts?: readonly Artifact[];
  /** Artifacts of other work for which this workload waited. Absent: none. */
  readonly given?: readonly Artifact[];
}

export type EndReason =
  | { readonly kind: "allTasksSucceeded" }
  /** Some tasks of an array were given up. `failedCount`: their number. */
  | { readonly kind: "tasksFailed"; readonly failedCount: number }
  | { readonly kind: "retriesExhausted"; readonly failures: number; readonly exit: WorkerExit | null }
  | { readonly kind: "walltimeExceeded"; readonly walltimeMs: number }
  | { readonly kind: "cancelled" }
  /** A dependency ended with an outcome that does not meet it. */
  | { readonly kind: "dependencyNotMet"; readonly workloadId: WorkloadId; readonly on: WaitsFor["on"] };

export const compareOrdinals = (left: Workload, right: Workload): number => left.ordinal - right.ordinal;

/**
 * Rule by which a victim was chosen under a policy with borrowing. `withinTeam`: it belongs to the preemptor's own
 * team. `reclaimGuarantee`: the preemptor's side reclaims its guarantee. `reclaimShare`: both sides borrow, and the
 * preemptor's side has the smaller share. `reclaimWhileBorrowing`: the victim has low priority, and the preemptor's
 * team itself borrows.
 */
export type EvictionRight = "withinTeam" | "reclaimGuarantee" | "reclaimShare" | "reclaimWhileBorrowing";

/**
 * Number of ended attempts that are kept of a workload: enough to recognise a restart loop, and few enough for 100,000
 * workloads.
 */
export const ENDED_ATTEMPTS_KEPT = 16;
