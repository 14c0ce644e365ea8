/**
 * The state as bytes and back: UTF-8 JSON with a format number, for snapshots and forks. Indexes are not included; they
 * are rebuilt.
 */
import type { Account } from "../model/budget.ts";
import type { ExecutorSpec } from "../model/fleet.ts";
import type { TeamName, WorkloadId } from "../model/ids.ts";
import type { ScheduleItem } from "../model/schedule.ts";
import type { CalendarItem } from "../model/calendar.ts";
import type { DecayedUsage } from "../model/usage-history.ts";
import type { Nomination } from "../model/workload.ts";
import { DemandMix } from "./demand-mix.ts";
import type { StoredDemand } from "./demand-mix.ts";
import { InvariantError } from "../base/invariant.ts";
import { jsonBytes, parseJsonBytes } from "../base/json-pieces.ts";
import { utf8Decode } from "../base/utf8.ts";
import { store, storeWorkload } from "./stored.ts";
import type { StoredAttempt, StoredNode, StoredWorkload } from "./stored.ts";
import { asWritable } from "./mutable-state.ts";
import type { State, WritableWorkload } from "./mutable-state.ts";
import type { ReadonlyState } from "./state.ts";
import { upcastPolicy, upcastSnapshot } from "./upcast.ts";

/** Raised when the form below changes; a reader refuses a newer format. */
const SNAPSHOT_FORMAT = 2;

export function encodeSnapshot(readonlyState: ReadonlyState): Uint8Array {
  const state = asWritable(readonlyState);
  return jsonBytes({
    format: SNAPSHOT_FORMAT,
    nowMs: state.nowMs,
    sequence: state.sequence,
    chain: state.chain,
    policy: state.policy,
    submittedCount: state.submittedCount,
    endedCount: state.endedCount,
    sites: [...state.sites.values()],
    ...(state.executors.size === 0 ? {} : { executors: [...state.executors.values()] }),
    pools: [...state.pools.values()],
    nodes: [...state.nodes.values()].map(store),
    teams: [...state.teams.values()],
    workloads: [...state.workloads.values()].map(storeWorkload),
    attempts: [...state.attempts.values()].map(store),
    nominations: [...state.nominations.values()],
    ...(state.accounts.size === 0 ? {} : { accounts: [...state.accounts] }),
    ...(state.moved.size === 0 ? {} : { moved: [...state.moved] }),
    ...(state.decayedUsage.size === 0 ? {} : { decayedUsage: [...state.decayedUsage] }),
    ...(state.runTimes.size === 0 ? {} : { runTimes: [...state.runTimes] }),
    ...(state.schedules.size === 0 ? {} : { schedules: [...state.schedules.values()] }),
    ...(state.calendar.size === 0 ? {} : { calendar: [...state.calendar.values()] }),
    ...(state.endedEntries.size === 0 ? {} : { endedEntries: [...state.endedEntries] }),
    ...(state.demand === null ? {} : { demand: state.demand.stored() }),
    answers: [...state.answers],
  });
}

interface StoredState extends Pick<State, "nowMs" | "sequence" | "chain" | "policy" | "submittedCount" | "endedCount"> {
  readonly format: number;
  readonly sites: readonly (State["sites"] extends Map<unknown, infer Value> ? Value : never)[];
  /** Absent while no executor has registered. */
  readonly executors?: readonly ExecutorSpec[];
  readonly pools: readonly (State["pools"] extends Map<unknown, infer Value> ? Value : never)[];
  readonly nodes: readonly StoredNode[];
  readonly teams: readonly (State["teams"] extends Map<unknown, infer Value> ? Value : never)[];
  readonly workloads: readonly StoredWorkload[];
  readonly attempts: readonly StoredAttempt[];
  /** Absent in snapshots from before nominations existed. */
  readonly nominations?: readonly Nomination[];
  /** Absent while the calendar is empty. */
  readonly calendar?: readonly CalendarItem[];
  /** Absent while no declared entry has ended. */
  readonly endedEntries?: readonly (readonly [string, string])[];
  /** Absent while no team has a budget. */
  readonly accounts?: readonly (readonly [TeamName, Account])[];
  /** Absent while no policy uses decayed usage. */
  readonly decayedUsage?: readonly (readonly [string, DecayedUsage])[];
  /** Absent while no policy predicts run times. */
  readonly runTimes?: readonly (readonly [string, readonly number[]])[];
  /** Absent if nothing was migrated by defragmentation. */
  readonly moved?: readonly (readonly [WorkloadId, number])[];
  /** Absent while no policy's scores need it. */
  readonly demand?: StoredDemand;
  /** Absent while there are no schedules. */
  readonly schedules?: readonly ScheduleItem[];
  readonly answers: readonly (State["answers"] extends Map<infer Key, infer Value> ? readonly [Key, Value] : never)[];
}

const NO_BOOKKEEPING = { digestRevision: 0, digestLanes: null } as const;
const keyed = <Key, Value>(values: readonly Value[], keyOf: (value: Value) => Key): [Key, Value][] =>
  values.map((value) => [keyOf(value), value]);

/**
 * A snapshot up to this size in bytes is parsed as one text, which is faster. The limit is well below the longest
 * string of the runtime.
 */
const TEXT_BYTES_MAX = 2 ** 28;
/** Lists of larger snapshots are parsed in pieces of this size in bytes. */
const PIECE_BYTES = 2 ** 24;

/**
 * Reads a snapshot. Throws `InvariantError` on bytes that no `encodeSnapshot` of this or an older format wrote. Only
 * tests pass another `textBytesMax`.
 */
export function decodeSnapshot(bytes: Uint8Array, textBytesMax: number = TEXT_BYTES_MAX): ReadonlyState {
  let stored: StoredState | null;
  try {
    stored = (
      bytes.length <= textBytesMax
        ? JSON.parse(utf8Decode(bytes))
        : parseJsonBytes(bytes, Math.min(PIECE_BYTES, textBytesMax))
    ) as StoredState | null;
  } catch (cause) {
    throw new InvariantError("the snapshot is damaged: not JSON", { cause });
  }
  if (stored?.format === 1) stored = upcastSnapshot(stored);
  else if (stored?.format !== SNAPSHOT_FORMAT)
    throw new InvariantError(
      `the snapshot has format ${String(stored?.format)}, this version reads ${SNAPSHOT_FORMAT}`,
    );
  const workloads = stored.workloads.map((workload): WritableWorkload => ({
    ...workload,
    failureCounts: new Map(workload.failureCounts),
    attemptCounts: new Map(workload.attemptCounts),
    ...NO_BOOKKEEPING,
    placementClass: null,
  }));
  const { nowMs, sequence, chain, submittedCount, endedCount } = stored;
  const policy = upcastPolicy(stored.policy);
  const state: State = {
    nowMs,
    sequence,
    chain,
    policy,
    submittedCount,
    endedCount,
    sites: new Map(keyed(stored.sites, ({ name }) => name)),
    executors: new Map(keyed(stored.executors ?? [], ({ id }) => id)),
    pools: new Map(keyed(stored.pools, ({ name }) => name)),
    nodes: new Map(
      keyed(
        stored.nodes.map((node) => ({ ...node, ...NO_BOOKKEEPING })),
        ({ id }) => id,
      ),
    ),
    teams: new Map(keyed(stored.teams, ({ name }) => name)),
    workloads: new Map(keyed(workloads, ({ id }) => id)),
    attempts: new Map(
      keyed(
        stored.attempts.map((attempt) => ({ ...attempt, ...NO_BOOKKEEPING })),
        ({ id }) => id,
      ),
    ),
    nominations: new Map(keyed(stored.nominations ?? [], ({ attemptId }) => attemptId)),
    calendar: new Map(keyed(stored.calendar ?? [], ({ entry }) => entry.name)),
    endedEntries: new Map(stored.endedEntries ?? []),
    accounts: new Map(stored.accounts ?? []),
    decayedUsage: new Map(stored.decayedUsage ?? []),
    moved: new Map(stored.moved ?? []),
    runTimes: new Map(stored.runTimes ?? []),
    schedules: new Map(keyed(stored.schedules ?? [], ({ schedule }) => schedule.name)),
    answers: new Map(stored.answers),
    demand: stored.demand === undefined ? null : DemandMix.restored(stored.demand),
  };
  return state;
}
