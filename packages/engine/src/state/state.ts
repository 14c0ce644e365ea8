/**
 * The state of the control plane: the data into which the journal's events are folded, without derived data. `apply/`
 * is its only writer, through the form of `mutable-state.ts`; other rooms read `ReadonlyState`. Indexes that can be
 * rebuilt from it live in `cluster/`.
 */
import { teamName } from "@headroom/model";
import type {
  Account,
  Artifact,
  BurstAccount,
  ArtifactVersion,
  CapacityOrder,
  Proposal,
  ProposalKind,
  ProposalRule,
  CachedStep,
  PipelineItem,
  PipelineRun,
  PipelineRunId,
  ScheduleItem,
  CalendarItem,
  ExecutorId,
  ExecutorSpec,
  ExecutorState,
  PendingRemoval,
  Node,
  Pool,
  Site,
  RecordedHistory,
  Store,
  AttemptId,
  NodeId,
  PoolName,
  SiteName,
  TeamName,
  WorkloadId,
  Team,
  Attempt,
  Nomination,
  Workload,
  DecayedUsage,
  RunTimes,
  Policy,
  CommandResult,
} from "@headroom/model";
import type { DemandMix } from "./demand-mix.ts";

export interface WorkloadEntity extends Workload {
  /** Position of the workload in the order of ended workloads; 0 if it has not ended. */
  readonly endOrdinal: number;
}

export interface ReadonlyState {
  /** Time of the newest batch, in ms since the epoch of the driver's clock. */
  readonly nowMs: number;
  /** Number of events folded so far. It equals the sequence of the newest event. */
  readonly sequence: number;
  /** The newest value of the journal's hash chain, as 32 hexadecimal digits. */
  readonly chain: string;
  readonly policy: Policy;
  readonly sites: ReadonlyMap<SiteName, Site>;
  /**
   * Registered executors by id. Empty in a simulation, and in journals that are older than the registration of
   * executors.
   */
  readonly executors: ReadonlyMap<ExecutorId, ExecutorSpec>;
  /** States of executors by id. Empty while every executor has always answered and none is declared. */
  readonly executorStates: ReadonlyMap<ExecutorId, ExecutorState>;
  readonly pools: ReadonlyMap<PoolName, Pool>;
  readonly nodes: ReadonlyMap<NodeId, Node>;
  /** Pools and sites whose removal waits until the last work on their nodes has ended. */
  readonly poolRemovals: ReadonlyMap<PoolName, PendingRemoval>;
  readonly siteRemovals: ReadonlyMap<SiteName, PendingRemoval>;
  /**
   * Capacity orders by name, in the order of creation: all that are not over, and the newest `ENDED_ORDERS_KEPT` that
   * are.
   */
  readonly capacityOrders: ReadonlyMap<string, CapacityOrder>;
  /** Memory about pools for which the engine has ordered nodes. */
  readonly burstAccounts: ReadonlyMap<PoolName, BurstAccount>;
  /** Proposals by id, in the order of creation: all that are not over, and the newest that are. */
  readonly proposals: ReadonlyMap<string, Proposal>;
  /** Rules of proposals that differ from the usual ones. */
  readonly proposalRules: ReadonlyMap<ProposalKind, ProposalRule>;
  /** Names of artifacts by key, in the order of their first version. */
  readonly artifacts: ReadonlyMap<string, Artifact>;
  /** Versions of artifacts by id. The newest `DELETED_VERSIONS_KEPT` deleted ones of each name are kept. */
  readonly artifactVersions: ReadonlyMap<string, ArtifactVersion>;
  /** Declared stores by name, in the order of declaration. */
  readonly stores: ReadonlyMap<string, Store>;
  /** Imported past work, by executor. */
  readonly importedHistories: ReadonlyMap<ExecutorId, RecordedHistory>;
  readonly teams: ReadonlyMap<TeamName, Team>;
  /**
   * All workloads that have not ended, and the `ENDED_WORKLOADS_KEPT` workloads that ended last, in the order of
   * submission.
   */
  readonly workloads: ReadonlyMap<WorkloadId, WorkloadEntity>;
  readonly attempts: ReadonlyMap<AttemptId, Attempt>;
  /** Nominations, by the id of the nominated attempt. */
  readonly nominations: ReadonlyMap<AttemptId, Nomination>;
  /** Calendar entries by name, in the order of definition. */
  readonly calendar: ReadonlyMap<string, CalendarItem>;
  /**
   * Fingerprints of ended calendar entries by name. The entry that ended first is first. There are at most
   * `ENDED_ENTRIES_KEPT`.
   */
  readonly endedEntries: ReadonlyMap<string, string>;
  readonly accounts: ReadonlyMap<TeamName, Account>;
  /**
   * Usage history of teams, and of users in teams, by `usageKey`. The entry that was updated least recently is first.
   */
  readonly decayedUsage: ReadonlyMap<string, DecayedUsage>;
  /** Recent run times by kind of work (`usage/run-times.ts`). Empty while no policy predicts run times. */
  readonly runTimes: RunTimes;
  /** Schedules by name, in the order of definition. */
  readonly schedules: ReadonlyMap<string, ScheduleItem>;
  /** Pipelines by name, in the order of definition. */
  readonly pipelines: ReadonlyMap<string, PipelineItem>;
  /** Runs of pipelines in the order of creation: all that have not ended, and at most `ENDED_RUNS_KEPT` that have. */
  readonly pipelineRuns: ReadonlyMap<PipelineRunId, PipelineRun>;
  /** Successful steps by cache key, the oldest first. There are at most `CACHED_STEPS_KEPT`. */
  readonly cachedSteps: ReadonlyMap<string, CachedStep>;
  /**
   * Workloads that defragmentation migrated, with the time of the last migration. Workloads that may migrate again are
   * left out.
   */
  readonly migrated: ReadonlyMap<WorkloadId, number>;
  /** Answers to commands with an idempotency key, oldest first. There are at most `ANSWERS_KEPT`. */
  readonly answers: ReadonlyMap<string, Answer>;
  /** Recent demand. It is counted from the first submission under a policy that needs it; before, it is `null`. */
  readonly demand: ReadonlyDemand | null;
  readonly submittedCount: number;
  readonly endedCount: number;
  /** Number of nodes that have ever joined, and so the ordinal of the next one. It never decreases. */
  readonly joinedNodeCount: number;
  /** Number of runs of pipelines that were ever created. */
  readonly pipelineRunCount: number;
}

/** The team of work that names no team. It always exists. */
export const DEFAULT_TEAM: TeamName = teamName("default");

export type ReadonlyDemand = Pick<DemandMix, "renewals" | "sample" | "countedMilli" | "countedMilliBySize">;

export interface Answer {
  readonly fingerprint: string;
  readonly result: CommandResult;
  readonly atMs: number;
}

/** Number of ended workloads that the state keeps. Older ones are in the journal only. */
export const ENDED_WORKLOADS_KEPT = 10_000;
/**
 * Maximum number of answers that are kept. A command is retried within minutes, and this number covers hours at the
 * stated peak of sustained load.
 */
export const ANSWERS_KEPT = 50_000;
/**
 * Maximum number of workloads that wait without a running attempt. Further submissions are refused, so that the control
 * plane does not run out of memory.
 */
export const WAITING_WORKLOADS_MAX = 1_000_000;
