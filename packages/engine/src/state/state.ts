/**
 * The state of the control plane: the journal's events folded into data, without anything derived. `apply/` is its only
 * writer, through the form of `mutable-state.ts`; other rooms read `ReadonlyState`. Indexes that can be rebuilt from it
 * live in `cluster/`.
 */
import type { Account } from "../model/budget.ts";
import type { ScheduleItem } from "../model/schedule.ts";
import type { CalendarItem } from "../model/calendar.ts";
import type { ExecutorId, ExecutorSpec, Node, Pool, Site } from "../model/fleet.ts";
import { teamName } from "../model/ids.ts";
import type { AttemptId, NodeId, PoolName, SiteName, TeamName, WorkloadId } from "../model/ids.ts";
import type { Team } from "../model/team.ts";
import type { Attempt, Nomination, Workload } from "../model/workload.ts";
import type { DecayedUsage, RunTimes } from "../model/usage-history.ts";
import type { Policy } from "../policy/policy.ts";
import type { DemandMix } from "./demand-mix.ts";
import type { CommandResult } from "../contract/replies.ts";

/** A workload's place in the queue: an opaque reference that belongs to the queue. */
export interface QueueMembership {
  readonly waitingAt: number;
}

export interface WorkloadEntity extends Workload {
  /** Position in the order of ended workloads; 0: the workload has not ended. */
  readonly endOrdinal: number;
  /** The queue bucket in which the workload waits. Index data: written by the queue, never stored or hashed. */
  placementClass: QueueMembership | null;
}

export interface ReadonlyState {
  /** Time of the newest batch, in ms since the epoch of the driver's clock. */
  readonly nowMs: number;
  /** Number of events folded so far, which is the sequence of the newest event. */
  readonly sequence: number;
  /** Head of the journal's hash chain, 32 hex digits. */
  readonly chain: string;
  readonly policy: Policy;
  readonly sites: ReadonlyMap<SiteName, Site>;
  /** Registered executors by id; empty in a simulation and in journals from before executors registered. */
  readonly executors: ReadonlyMap<ExecutorId, ExecutorSpec>;
  readonly pools: ReadonlyMap<PoolName, Pool>;
  readonly nodes: ReadonlyMap<NodeId, Node>;
  readonly teams: ReadonlyMap<TeamName, Team>;
  /** Every workload that has not ended, and the newest `ENDED_WORKLOADS_KEPT` ended ones; in order of submission. */
  readonly workloads: ReadonlyMap<WorkloadId, WorkloadEntity>;
  readonly attempts: ReadonlyMap<AttemptId, Attempt>;
  /** Nominations, by the nominated attempt. */
  readonly nominations: ReadonlyMap<AttemptId, Nomination>;
  /** Calendar entries by name, in the order of definition. */
  readonly calendar: ReadonlyMap<string, CalendarItem>;
  /**
   * Fingerprints of ended calendar entries by name, the entry that ended first at the front; at most
   * `ENDED_ENTRIES_KEPT`.
   */
  readonly endedEntries: ReadonlyMap<string, string>;
  readonly accounts: ReadonlyMap<TeamName, Account>;
  /** Usage history of teams and users in teams (`usageKey`), least recently updated first. */
  readonly decayedUsage: ReadonlyMap<string, DecayedUsage>;
  /** Recent run times by kind of work (`usage/run-times.ts`); empty while no policy predicts run times. */
  readonly runTimes: RunTimes;
  /** Schedules by name, in the order of definition. */
  readonly schedules: ReadonlyMap<string, ScheduleItem>;
  /**
   * Workloads migrated by defragmentation, with the time of the last migration; those that may migrate again are
   * omitted.
   */
  readonly moved: ReadonlyMap<WorkloadId, number>;
  /** Answers to commands with an idempotency key, oldest first, at most `ANSWERS_KEPT`. */
  readonly answers: ReadonlyMap<string, Answer>;
  /** Recent demand, from the first submission under a policy that needs it. */
  readonly demand: ReadonlyDemand | null;
  readonly submittedCount: number;
  readonly endedCount: number;
}

/** Work that names no team belongs to this one; it always exists. */
export const DEFAULT_TEAM: TeamName = teamName("default");

export type ReadonlyDemand = Pick<DemandMix, "renewals" | "sample" | "countedMilli" | "countedMilliBySize">;

export interface Answer {
  readonly fingerprint: string;
  readonly result: CommandResult;
  readonly atMs: number;
}

/** Number of ended workloads kept in the state; older ones are in the journal only. */
export const ENDED_WORKLOADS_KEPT = 10_000;
/**
 * Maximum number of kept answers. Retries of a command come within minutes; this number covers hours at the stated peak
 * of sustained load.
 */
export const ANSWERS_KEPT = 50_000;
/**
 * Maximum number of workloads without running attempts. Further submissions are refused, so that the control plane does
 * not run out of memory.
 */
export const WAITING_WORKLOADS_MAX = 1_000_000;
