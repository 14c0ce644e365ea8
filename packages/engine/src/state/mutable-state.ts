/** The writable form of the state. Only `apply/` writes it; everybody else reads `ReadonlyState`. */
import { CHAIN_START } from "../base/hash.ts";
import type { Lanes } from "../base/hash.ts";
import type { Account } from "../model/budget.ts";
import type { CalendarItem } from "../model/calendar.ts";
import type { Node, Pool, Site } from "../model/fleet.ts";
import { teamName } from "../model/ids.ts";
import type { AttemptId, NodeId, PoolName, SiteName, TeamName, WorkloadId } from "../model/ids.ts";
import type { DecayedUsage } from "../model/usage-history.ts";
import type { ScheduleItem } from "../model/schedule.ts";
import type { Team } from "../model/team.ts";
import type { Attempt, Nomination, Workload } from "../model/workload.ts";
import { genesisPolicy } from "../policy/presets.ts";
import type { Policy } from "../policy/policy.ts";
import type { DemandMix } from "./demand-mix.ts";
import type { Answer, ReadonlyState } from "./state.ts";

/** A workload's place in the queue as the state sees it: an opaque reference that the queue owns. */
export interface QueueMembership {
  readonly waitingAt: number;
}

export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Sequence of the last event that touched the entity, and its digest as of then: what makes a digest cost only what changed. */
export interface Digested {
  revision: number;
  digestRevision: number;
  digestLanes: Lanes | null;
}

export type WorkloadEntity = Mutable<Omit<Workload, "activeAttempts">> &
  Digested & {
    activeAttempts: AttemptId[];
    /** Position in the order of ending; 0 while it has not ended. */
    endOrdinal: number;
    /** The bucket of the queue in which it waits; index data, never stored or hashed. */
    placementClass: QueueMembership | null;
  };
export type AttemptEntity = Mutable<Attempt> & Digested;
export type NodeEntity = Mutable<Node> & Digested;

export interface State extends ReadonlyState {
  nowMs: number;
  sequence: number;
  chain: string;
  policy: Policy;
  readonly sites: Map<SiteName, Site>;
  readonly pools: Map<PoolName, Pool>;
  readonly nodes: Map<NodeId, NodeEntity>;
  readonly teams: Map<TeamName, Team>;
  readonly workloads: Map<WorkloadId, WorkloadEntity>;
  readonly attempts: Map<AttemptId, AttemptEntity>;
  readonly nominations: Map<AttemptId, Nomination>;
  readonly calendar: Map<string, CalendarItem>;
  readonly endedEntries: Map<string, string>;
  readonly accounts: Map<TeamName, Account>;
  readonly decayedUsage: Map<string, DecayedUsage>;
  readonly runTimes: Map<string, readonly number[]>;
  readonly schedules: Map<string, ScheduleItem>;
  readonly moved: Map<WorkloadId, number>;
  readonly answers: Map<string, Answer>;
  demand: DemandMix | null;
  submittedCount: number;
  endedCount: number;
}

/** Work that names no team belongs to this one; it always exists. */
export const DEFAULT_TEAM: TeamName = teamName("default");

export function emptyState(): State {
  return {
    nowMs: 0,
    sequence: 0,
    chain: CHAIN_START,
    policy: genesisPolicy,
    sites: new Map(),
    pools: new Map(),
    nodes: new Map(),
    teams: new Map([[DEFAULT_TEAM, { name: DEFAULT_TEAM, parent: null, limit: {} }]]),
    workloads: new Map(),
    attempts: new Map(),
    nominations: new Map(),
    calendar: new Map(),
    endedEntries: new Map(),
    accounts: new Map(),
    decayedUsage: new Map(),
    runTimes: new Map(),
    schedules: new Map(),
    moved: new Map(),
    answers: new Map(),
    demand: null,
    submittedCount: 0,
    endedCount: 0,
  };
}

/** Shared by all workloads on which nothing runs; never written to. */
export const NO_ATTEMPTS: AttemptId[] = [];
