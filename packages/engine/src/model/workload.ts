/** What users submit, and what became of it. Durations in ms, memory in MiB, cores in thousandths. */
import type { AntiAffinitySpec } from "./anti-affinity.ts";
import type { AcceleratorSet } from "./accelerator-set.ts";
import type { ClosedBy } from "./calendar.ts";
import type { DataSpec } from "./data.ts";
import type { AttemptId, NodeId, TeamName, WorkloadId } from "./ids.ts";

/** What one worker needs, all of it on one node. */
export interface WorkerShape {
  /** Accelerators per worker; 0 for work that needs none. */
  readonly accelerators: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /** Network bandwidth, of what the pool states for each of its nodes; absent: none is reserved. */
  readonly networkGbps?: number;
  /** Thousandths of one accelerator, for a worker that shares it (`accelerators` is 1); absent: whole accelerators. */
  readonly shareMilli?: number;
  /**
   * MiB of the memory of one accelerator, for a worker that shares it (`accelerators` is 1): the node decides which fraction that is.
   * Never beside `shareMilli`, except in the shape of a placed worker, where `shareMilli` is that fraction.
   */
  readonly acceleratorMemoryMib?: number;
  /** A part of one accelerator that the hardware divides, by name (`mig.ts`), for a worker that has one (`accelerators` is 1); never beside `shareMilli`. */
  readonly profile?: string;
}

/** One worker's needs, and how many workers start together or not at all. */
export interface GangSpec extends WorkerShape {
  /** How many it wants; with `minWorkers` below it the gang is elastic. */
  readonly workers: number;
  /** Runs with this many and grows to `workers` as it may; absent: all or nothing. */
  readonly minWorkers?: number;
  /**
   * What 1, 2, … up to `workers` workers get done in the same time, in thousandths of what one does alone; absent: not known.
   * Only what is compared counts, so a gang that never runs with one worker may state it against any size of its own.
   */
  readonly throughputMilli?: readonly number[];
  /**
   * Groups of unlike workers that start together or not at all; absent: all workers are alike. With groups, `workers` and
   * `minWorkers` are their sums, and what the gang says of one worker is the most that any of them needs.
   */
  readonly taskGroups?: readonly TaskGroup[];
  /** Whom it keeps away from, and who may keep away from it; absent: nobody. */
  readonly antiAffinity?: AntiAffinitySpec;
}

/** Workers of one kind in a gang of several, e.g. those that prefill and those that decode. */
export interface TaskGroup extends WorkerShape {
  readonly name: string;
  readonly workers: number;
  /** The gang runs with this many of the group; absent: with all of them. */
  readonly minWorkers?: number;
  /** In order of preference; absent: as the workload says. The workers of a group are all of one type. */
  readonly acceleratorTypes?: readonly string[];
  /** Where the workers of the group may lie, beyond what the workload says of all. */
  readonly fabric?: FabricSpec;
}

/** The least workers a gang, or a group of one, runs with. */
export const minWorkersOf = (gang: Pick<GangSpec, "workers" | "minWorkers">): number => gang.minWorkers ?? gang.workers;

/** Where in the fabric tree a gang may lie. Levels are the site's names, or `node`. */
export interface FabricSpec {
  /** All workers in one domain of this level. */
  readonly within?: string;
  /** In as narrow a domain as can be had, from this level up to `within`. */
  readonly prefer?: string;
  /** Workers that must share a domain, `workers` at a time. */
  readonly slices?: readonly { readonly workers: number; readonly within: string }[];
}

/** Over which label's values workers are spread: at most `maxPerDomain` of the gang carry the same value. */
export interface SpreadSpec {
  readonly topologyKey: string;
  readonly maxPerDomain: number;
}

/** Work that must have come to an end, and to which, before this one may start. */
export type AfterSpec = AfterEnd | AfterArtifact;

export interface AfterEnd {
  /** Name of a workload of the same team, or its id. */
  readonly workload: string;
  readonly on: "ok" | "failed" | "any";
}

/** Something that other work says it produces: it may start as soon as that has reported it, and finds it by its environment. */
export interface AfterArtifact {
  readonly artifact: string;
  /** Name of a workload of the same team, or its id; absent: the newest of the team that produces such a thing. */
  readonly workload?: string;
}

/** Something that work has produced, and where it lies. */
export interface Artifact {
  readonly name: string;
  readonly path: string;
}

/** It starts only while power is so cheap or so clean, or when it can wait no longer: at its latest start, or for its deadline. */
export interface StartWindowSpec {
  readonly microUsdPerKwhMax?: number;
  readonly gramsPerKwhMax?: number;
  /** Only in the so much time of least price, or of least carbon, before it starts anyway, as tariffs tell it. */
  readonly cheapestMs?: number;
  readonly cleanestMs?: number;
  readonly latestStartMs?: number;
}

/** What it says of power; its latest start is none. */
export type StartWindowCondition = Exclude<keyof StartWindowSpec, "latestStartMs">;

export interface RetrySpec {
  /** How often a task may fail by its own exit before its workload fails. Lost nodes do not count. */
  readonly max: number;
  /** Wait before the first retry; doubles with each further one up to `backoffMaxMs`. */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
}

interface SpecCommon {
  readonly name: string;
  readonly team: TeamName;
  /** A shell command line, run by `/bin/sh -c` in `dir`. */
  readonly run: string;
  /** Absolute working directory; `null`: the attempt's own. */
  readonly dir: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly gang: GangSpec;
  /** Accelerator types in order of preference; empty: any. A gang never mixes types. */
  readonly acceleratorTypes: readonly string[];
  /** It may wait for a type that no node has. The edge refuses other work of such a type; decisions do not read this. */
  readonly waitForType?: true;
  /** Larger goes first where the policy orders by priority. */
  readonly priority: number;
  /** From the moment the attempt runs; `null`: unlimited. */
  readonly walltimeMs: number | null;
  readonly retries: RetrySpec;
  /** Between SIGTERM and SIGKILL. */
  readonly graceTimeoutMs: number;
  /** `null`: the executor keeps one directory for each workload. */
  readonly checkpointDir: string | null;
  /** It writes a checkpoint when it is asked for one, and reports it; absent: asking would be in vain. */
  readonly checkpointOnRequest?: true;
  /** Time between checkpoints, ms; `auto`: chosen by the failure rate of the fleet; absent: the work decides. */
  readonly checkpointEvery?: number | "auto";
  /** For how long one checkpoint stops it; `auto` chooses by it. */
  readonly checkpointCostMs?: number;
  readonly fabric?: FabricSpec;
  /** Only nodes that carry these labels. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly spread?: SpreadSpec;
  /** What it reads, and the rule that this is under. */
  readonly data?: DataSpec;
  /** Whether it may be evicted for others; absent: as the policy says. */
  readonly preemptible?: boolean | "aboveGuarantee";
  /** Not evicted before it ran this long. */
  readonly minRuntimeMs?: number;
  /** Work lost and time spent when it is evicted and starts again, beyond what its last checkpoint covers. */
  readonly restartCostMs?: number;
  /** What becomes of a gang that runs when one of its nodes is lost; absent: `restart`. */
  readonly onNodeLoss?: "replace" | "restart";
  readonly after?: readonly AfterSpec[];
  /** Names of what it reports when it has produced it, for others to wait for. */
  readonly produces?: readonly string[];
  /** Not started until somebody releases it. */
  readonly hold?: true;
  /** Not started before this instant. */
  readonly notBeforeMs?: number;
  /** Wanted done by this instant. */
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

/** One worker's share of an allocation, in rank order within `Attempt.workers`. A share names the one accelerator it is of. */
export interface WorkerAllocation {
  readonly node: NodeId;
  readonly accelerators: AcceleratorSet;
  /** The memory slice of its accelerator at which its part begins; absent: it has no part by profile. */
  readonly slice?: number;
  /** Thousandths of its accelerator that `acceleratorMemoryMib` came to on the node; absent: it asked for no such memory. */
  readonly shareMilli?: number;
  /** Position of its group in `GangSpec.groups`; absent in a gang without. */
  readonly taskGroup?: number;
}

/** A place that is kept for a task until those who hold it have left. */
export interface Nomination {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  readonly number: number;
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
  /** True: more workers for the attempt of this id, which runs; false: the attempt that is to start. */
  readonly growth: boolean;
  readonly atMs: number;
  /** Its back-off is over at this instant: it is not launched before; absent: at once. */
  readonly notBeforeMs?: number;
  /** The attempt that has to end first, since the place is for its task: it was asked to move. Absent: none, or it has ended. */
  readonly afterAttempt?: AttemptId;
}

/** Why an attempt is being stopped before it ends by itself. */
export type StopReason = "cancelled" | "walltimeExceeded" | "nodeDrained" | "nodeLost" | "budgetSpent" | EvictionReason;

/**
 * By what right a plan takes what somebody holds: `preempted` by higher priority in its own team, `reclaimed` for a guarantee or a
 * fair share, `moved` to make room (it goes on elsewhere), `incomplete`: its gang fell below its minimum.
 */
export type EvictionReason = (typeof EVICTION_REASONS)[number];

const EVICTION_REASONS = ["preempted", "reclaimed", "moved", "incomplete"] as const;
const evictionReasons: ReadonlySet<string> = new Set(EVICTION_REASONS);

/** Whether work that stops for this reason is evicted: it stops counting for its team at once. */
export const isEviction = (reason: string): reason is EvictionReason => evictionReasons.has(reason);

/** The same for plans alone, which take work for a preemptor: not for a gang that fell below its minimum. */
export const isPlannedEviction = (reason: string): boolean => reason !== "incomplete" && isEviction(reason);

/** The ranks of an attempt's workers, in the order of `workers`: all but those that are missing. */
export function ranksOf({ workers, missing = [] }: Pick<Attempt, "workers" | "missing">): readonly number[] {
  const all = Array.from({ length: workers.length + missing.length }, (_, rank) => rank);
  return missing.length === 0 ? all : all.filter((rank) => !missing.includes(rank));
}

/** That an attempt is to stop: since when it leaves its place, and why. */
export interface AttemptStop {
  readonly reason: StopReason;
  readonly atMs: number;
  /** It was asked for a checkpoint first and may take until then; absent: its executor was asked to stop it at `atMs`. */
  readonly checkpointUntilMs?: number;
  /** Which window or notice it makes way for; absent: none, or recorded before this was. */
  readonly closedBy?: ClosedBy;
}

/** When nothing of it is left at the latest, if its executor obeys. */
export const stoppedByMs = ({ atMs, checkpointUntilMs }: AttemptStop, graceTimeoutMs: number): number =>
  (checkpointUntilMs ?? atMs) + graceTimeoutMs;

/** How one worker's process ended. */
export type WorkerExit =
  | { readonly kind: "exited"; readonly worker: number; readonly code: number }
  | { readonly kind: "signalled"; readonly worker: number; readonly signal: string };

/** `failed`: by its own exit. `stopped`: at our request. `lost`: the fleet's fault (node, launch, supervisor). */
/**
 * `records`: what the executor recorded of the attempt is unreadable or not authentic. `supervisor`: the process that supervised it
 * was killed. A workload can cause both, so both are bounded.
 */
export type LossCause = "records" | "supervisor";

export type AttemptOutcome = "succeeded" | "failed" | "stopped" | "lost";

export interface Attempt {
  readonly id: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  /** 1 for a task's first attempt. */
  readonly number: number;
  readonly phase: "launching" | "running" | "stopping";
  /** Of a gang of groups, that of the first group which needs accelerators. */
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
  /** The journal sequence of the event that placed it. */
  readonly placedSequence: number;
  readonly placedAtMs: number;
  readonly startedAtMs: number | null;
  readonly stop: AttemptStop | null;
  /** The newest recorded estimate; reports in between are telemetry. */
  readonly progress: AttemptProgress | null;
  /** Only from journals of before telemetry had a store of its own. */
  readonly utilization?: AttemptUtilization;
  /** Since when none of its accelerators is busy; absent: one is, or nothing is known. */
  readonly idleSinceMs?: number;
  /** Workers that were asked to leave while the others go on, in rank order; absent: none. */
  readonly terminating?: readonly WorkerAllocation[];
  /** Ranks whose workers were lost with their nodes and have no new place: `workers` are the others, in rank order. Never beyond a batch unless it stops. */
  readonly missing?: readonly number[];
  /** Ranks that were given new places and have not joined the others yet; absent: none. */
  readonly joining?: readonly number[];
  /** How long it was predicted to run when it was placed, as corrected since; absent: as its walltime says. */
  readonly prediction?: Prediction;
  /** A further worker did not come when it was last to grow: since when it asks for none; absent: it may grow. */
  readonly joinFailure?: JoinFailure;
  /** It keeps the place of the attempt before it and is launched at this instant, when its back-off is over; absent: it was launched. */
  readonly launchAtMs?: number;
  /** It gave its team's cells to others of the team and goes on as a loan of what is idle; absent: it did not. */
  readonly opportunistic?: true;
}

/** How long work is predicted to run, for plans about the time to come; never longer than its walltime. */
export interface Prediction {
  readonly durationMs: number;
  /** From how many of its kind that ran before. */
  readonly runs: number;
  /** How often it was outlived and made longer; absent: never. */
  readonly corrections?: number;
}

export interface JoinFailure {
  readonly atMs: number;
  /** What the executor said of it. */
  readonly detail: string;
}

/** What was told of the use of an attempt's accelerators: the last report, and what stands out of all. */
export interface AttemptUtilization {
  readonly atMs: number;
  readonly accelerators: number;
  readonly busyAccelerators: number;
  readonly busyMilli: number;
  /** At any one report. */
  readonly mostBusyAccelerators: number;
  /** The last report of a busy one, or the start. */
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

/** What is kept of an attempt after its end. */
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
  /** The worker exit that decided the outcome, where one did. */
  readonly exit: WorkerExit | null;
  /** One sentence for people, e.g. the launch error; `""` where the outcome says it all. */
  readonly detail: string;
  readonly stopReason: StopReason | null;
  /** Which window or notice it made way for; absent: none, or recorded before this was. */
  readonly closedBy?: ClosedBy;
}

/** What is waited for, and of which workload: an end, and how it must have come out, or something that it produces. */
export type WaitsFor =
  | { readonly workloadId: WorkloadId; readonly on: AfterEnd["on"] }
  | { readonly workloadId: WorkloadId; readonly on: "artifact"; readonly artifact: string };

/** Whether work that ended this way meets the condition. */
export const meets = (on: WaitsFor["on"], phase: WorkloadPhase): boolean =>
  on === "any" || (on !== "artifact" && (on === "ok") === (phase === "succeeded"));

/** A task that failed or was lost and waits for its next attempt. */
export interface TaskRetry {
  readonly task: number;
  readonly notBeforeMs: number;
}

export interface TaskLosses {
  readonly task: number;
  readonly count: number;
}

export type WorkloadPhase = "pending" | "running" | "stopping" | "succeeded" | "failed" | "cancelled";

export interface Workload {
  readonly id: WorkloadId;
  /** Position in the order of submission; every tie between workloads ends here. */
  readonly ordinal: number;
  readonly spec: WorkloadSpec;
  readonly submittedAtMs: number;
  /** Who submitted it, as the shell authenticated them. */
  readonly actor: string;
  readonly phase: WorkloadPhase;
  readonly stopRequested: boolean;
  /** Tasks from here on were never attempted. */
  readonly nextTask: number;
  readonly retries: readonly TaskRetry[];
  /** Own failures so far by task, only for tasks that had any; bounds the retries. */
  readonly failureCounts: ReadonlyMap<number, number>;
  /**
   * Consecutive losses with a `LossCause`, by task in the order of the last of them; a checkpoint or an exit resets the count.
   * Absent: none.
   */
  readonly losses?: readonly TaskLosses[];
  /** Attempts started so far by task, only for tasks that had more than one. */
  readonly attemptCounts: ReadonlyMap<number, number>;
  readonly activeAttempts: readonly AttemptId[];
  readonly succeededCount: number;
  /** Tasks that were given up; those stopped by a cancellation count as neither. */
  readonly failedCount: number;
  /** Tasks of an array that ended without success and are not tried again, in the order of their ends; absent: none. */
  readonly givenUpTasks?: readonly number[];
  /** How often it was run again after its end, and when last; absent: never. */
  readonly rerun?: { readonly count: number; readonly atMs: number };
  /** The newest ended attempts, oldest first, at most `ENDED_ATTEMPTS_KEPT`. */
  readonly endedAttempts: readonly EndedAttempt[];
  readonly checkpoint: Checkpoint | null;
  readonly firstStartedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly endReason: EndReason | null;
  /** True while somebody holds it; absent otherwise. */
  readonly held?: true;
  /** True while power is too dear or too dirty for it; absent otherwise. */
  readonly waitsForStartWindow?: true;
  /** So many workers lay on lost nodes when its gang was last stopped, which may have spares in their place; absent: none. */
  readonly lostWorkers?: number;
  /** Ends that it still waits for; absent: none. */
  readonly waitsFor?: readonly WaitsFor[];
  /** What it produced so far, each thing as it was reported last; absent: nothing. */
  readonly artifacts?: readonly Artifact[];
  /** What it waited for and was produced by others; absent: nothing. */
  readonly given?: readonly Artifact[];
}

export type EndReason =
  | { readonly kind: "allTasksSucceeded" }
  /** Of an array: how many of its tasks were given up. */
  | { readonly kind: "tasksFailed"; readonly failedCount: number }
  | { readonly kind: "retriesExhausted"; readonly failures: number; readonly exit: WorkerExit | null }
  | { readonly kind: "walltimeExceeded"; readonly walltimeMs: number }
  | { readonly kind: "cancelled" }
  /** What it waited for ended otherwise. */
  | { readonly kind: "dependencyNotMet"; readonly workloadId: WorkloadId; readonly on: WaitsFor["on"] };

/** The order of submission. */
export const compareOrdinals = (left: Workload, right: Workload): number => left.ordinal - right.ordinal;

/**
 * By what right a victim is taken where teams borrow: its own team's rule; a guarantee of the beneficiary's side; the smaller share
 * of two sides that both borrow; or low priority, while the beneficiary's team borrows itself.
 */
export type EvictionRight = "withinTeam" | "reclaimGuarantee" | "reclaimShare" | "reclaimWhileBorrowing";

/** Enough to show a restart loop, small enough to keep with 100,000 workloads. */
export const ENDED_ATTEMPTS_KEPT = 16;
