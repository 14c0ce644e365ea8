/** The state, and the indexes that are rebuilt from it. Only `apply/` writes to either. */
import {
  nextDueMs,
  tariffEndMs,
  waitingTasksOf,
  HOUR_MS,
  MIGRATION_REST_MS,
  revisionOf,
  rulesOf,
  Fifo,
} from "@headroom/model";
import type {
  ScheduleItem,
  Tariff,
  TimeWindow,
  ExecutorId,
  AttemptId,
  NodeId,
  TeamName,
  WorkloadId,
  Attempt,
  Nomination,
  Proposal,
  Workload,
  WorkloadSpec,
  Rules,
  Pool,
  PoolName,
} from "@headroom/model";
import { PREDICTED_MS_MAX } from "../usage/run-times.ts";
import { nextLookMs } from "./start-window.ts";
import { CachedInputs } from "./cached-inputs.ts";
import { BudgetIndex } from "./budget-index.ts";
import { windowDurationMs } from "../usage/planned-duration.ts";
import { CalendarIndex } from "./calendar-index.ts";
import { latestEndMs } from "./latest-end.ts";
import { Capacity } from "./capacity.ts";
import { growthOf, holdAttempt, holdNomination } from "./holdings.ts";
import { CompletionIndex } from "./completion-index.ts";
import { workloadOf } from "./entities.ts";
import type { EvictableWork } from "./evictable-work.ts";
import { FabricIndex } from "./fabric-index.ts";
import { PipelineIndex, waitForPipelines } from "./pipeline-index.ts";
import { Scratch } from "./scratch.ts";
import { StartWindowIndex } from "./start-window-index.ts";
import { DecayedUsageIndex } from "./decayed-usage-index.ts";
import { Queue } from "./queue.ts";
import type { SignatureOf } from "./queue.ts";
import { TeamUse } from "./team-use.ts";
import { Timers } from "./timers.ts";
import { readyTask } from "../state/ready-task.ts";
import type { ReadonlyState, WorkloadEntity } from "../state/state.ts";

export interface World {
  readonly state: ReadonlyState;
  /** The active policy with its defaults filled in. */
  rules: Rules;
  readonly capacity: Capacity;
  readonly queue: Queue;
  readonly calendar: CalendarIndex;
  readonly budgets: BudgetIndex;
  readonly startWindow: StartWindowIndex;
  readonly decayedUsage: DecayedUsageIndex;
  readonly teamUse: TeamUse;
  readonly timers: Timers;
  readonly fabric: FabricIndex;
  readonly completions: CompletionIndex;
  /** Preemptible work by team; empty while no phase evicts. */
  readonly evictable: Map<TeamName, EvictableWork>;
  /** Attempts that a plan evicted, fully or partly. */
  readonly terminating: Set<Attempt>;
  /** Workloads to stop of which some attempts may not have been asked to stop yet. */
  readonly stopping: Set<WorkloadId>;
  /** Endpoints that may have more replicas than they need. */
  readonly shrinking: Set<WorkloadId>;
  /** Endpoints that have not ended. */
  readonly endpoints: Set<WorkloadId>;
  /** Endpoints with a rollout in progress. */
  readonly rollouts: Set<WorkloadId>;
  /** Nodes that leave when their last work has ended. */
  readonly removing: Set<NodeId>;
  /** Nodes to remove on which some attempts may not have been asked to stop yet. */
  readonly requeueing: Set<NodeId>;
  /** Attempts that keep a place during their back-off and are not launched yet. */
  readonly backingOff: Set<AttemptId>;
  readonly cachedInputs: CachedInputs;
  readonly pipelines: PipelineIndex;
  readonly scratch: Scratch;
  /** Number of queue-only events (events that change only the queue) since the world was indexed. */
  queueEventCount: number;
  readonly recent: { workload: WorkloadEntity | null; attempt: Attempt | null };
  /** Executors of the pools, in the order in which pools first named them. */
  executors: readonly ExecutorId[];
  /** Kinds of workload that pools with a list take. */
  poolKinds: ReadonlyMap<PoolName, NonNullable<Pool["kinds"]>>;
  /** Whether any pool may order capacity by itself. */
  isAnyBursting: boolean;
  hotSparesStated: number;
  /** Ids of workloads that wait for the end of a workload, by the id of the latter. */
  readonly dependents: Map<WorkloadId, WorkloadId[]>;
  /** Ended workloads that the state keeps; the one that ended first is first. */
  readonly endedKept: WorkloadId[];
  /** Number of entries at the front of `endedKept` that were removed. */
  endedDropped: number;
  /** Keys of `state.answers`, oldest first. */
  readonly answerKeys: Fifo<string>;
  /** Definitions of teams that the indexes do not contain yet, or `null`. They are settled before anything reads them. */
  unsettledTeams: UnsettledTeams | null;
}

/** Teams that were defined one after another at one instant. Their indexes are rebuilt once, not for each team. */
export interface UnsettledTeams {
  readonly atMs: number;
  /** Whether one of them has a new parent. */
  hasNewParent: boolean;
}

/** A number that changes whenever any allocation may have changed. Queue-only events do not change it. */
export const bookedSequenceOf = ({ state, queueEventCount }: World): number => state.sequence - queueEventCount;

/** Facts of all pools together that rounds and placements ask for. They change with the definition of a pool. */
export const factsOfPools = ({ pools }: ReadonlyState): Pick<World, "executors" | "poolKinds" | "isAnyBursting"> => ({
  executors: [...new Set([...pools.values()].map(({ executor }) => executor))],
  poolKinds: new Map([...pools.values()].flatMap(({ name, kinds }) => (kinds === undefined ? [] : [[name, kinds]]))),
  isAnyBursting: [...pools.values()].some(({ burst }) => burst !== undefined),
});

const hotSparesOf = ({ pools }: ReadonlyState): number =>
  [...pools.values()].reduce((sum, { hotSpares = 0 }) => sum + hotSpares, 0);

/**
 * Builds every index from the state: after a restore, and in tests to check the incrementally updated indexes.
 * `signatures`: the properties by which waiting requests are grouped into buckets.
 */
export function indexState(state: ReadonlyState, signatures: readonly SignatureOf[]): World {
  const rules = rulesOf(state.policy);
  const capacity = new Capacity();
  const teamUse = new TeamUse(state, rules);
  const calendar = new CalendarIndex(state);
  const queue = new Queue({ rules, calendar, users: teamUse.users, runTimes: state.runTimes, signatures });
  const timers = new Timers();
  const pools = factsOfPools(state);
  const world: World = {
    state,
    rules,
    capacity,
    queue,
    calendar,
    budgets: new BudgetIndex(state),
    startWindow: new StartWindowIndex(),
    decayedUsage: new DecayedUsageIndex(state, rules),
    teamUse,
    timers,
    fabric: new FabricIndex(state),
    completions: new CompletionIndex(rules),
    evictable: new Map(),
    terminating: new Set(),
    stopping: new Set(),
    shrinking: new Set(),
    endpoints: new Set(),
    rollouts: new Set(),
    removing: new Set(),
    requeueing: new Set(),
    backingOff: new Set(),
    cachedInputs: new CachedInputs(state.nodes.values()),
    pipelines: new PipelineIndex(state),
    scratch: new Scratch(),
    queueEventCount: 0,
    recent: { workload: null, attempt: null },
    executors: pools.executors,
    poolKinds: pools.poolKinds,
    isAnyBursting: pools.isAnyBursting,
    hotSparesStated: hotSparesOf(state),
    dependents: new Map(),
    endedKept: [],
    endedDropped: 0,
    answerKeys: new Fifo(state.answers.keys()),
    unsettledTeams: null,
  };
  for (const node of state.nodes.values()) {
    capacity.join(node);
    teamUse.setFamily(node.acceleratorType, node.acceleratorFamily);
    if (node.removal !== undefined) world.removing.add(node.id);
  }
  capacity.meterPower(state);
  for (const attempt of state.attempts.values()) fileAttempt(world, attempt);
  // A node that waits for its provisioner holds no work.
  for (const id of world.removing) if (state.nodes.get(id)?.removal?.awaits === undefined) world.requeueing.add(id);
  waitForTheClock(world);
  holdNominations(world);
  const ended: WorkloadEntity[] = [];
  for (const workload of state.workloads.values()) {
    if (workload.endedAtMs !== null) ended.push(workload);
    else {
      fileWorkload(world, workload);
      fileEndpoint(world, workload);
      if (workload.stopRequested && workload.activeAttempts.some((id) => state.attempts.get(id)?.stop === null))
        world.stopping.add(workload.id);
    }
  }
  waitForPower(world);
  for (const { id } of ended.toSorted((left, right) => left.endOrdinal - right.endOrdinal)) world.endedKept.push(id);
  return world;
}

/** Indexes an attempt: what it holds, the workers that it requests, and the instants at which time alone changes it. */
export function fileAttempt(world: World, attempt: Attempt): void {
  const { state, timers, backingOff } = world;
  const { id, workloadId, stop, placedAtMs, launchAtMs } = attempt;
  holdAttempt(world, attempt);
  const workload = workloadOf(world, workloadId);
  const { walltimeMs, minRuntimeMs } = workload.spec;
  world.queue.setGrowth(workload, id, growthOf(world, workload, attempt));
  waitForItsTime(timers, attempt, walltimeMs);
  if (stop?.checkpointUntilMs !== undefined)
    timers.add({ kind: "checkpoint", atMs: stop.checkpointUntilMs, attemptId: id });
  // Work becomes preemptible when its minimum runtime ends.
  if (minRuntimeMs !== undefined && placedAtMs + minRuntimeMs > state.nowMs)
    timers.add({ kind: "retry", atMs: placedAtMs + minRuntimeMs, workloadId });
  waitForWindows(world, attempt);
  waitForReadiness(world, workload, attempt);
  if (launchAtMs === undefined) return;
  backingOff.add(id);
  timers.add({ kind: "retry", atMs: launchAtMs, workloadId });
}

/** Indexes work that has not ended: its place in the queue, the work for whose end it waits, and its earliest starts. */
export function fileWorkload(world: World, workload: WorkloadEntity): void {
  const { state, queue, timers } = world;
  const { id: workloadId, spec } = workload;
  const { notBeforeMs = 0 } = spec;
  world.startWindow.add(workload);
  fileDependencies(world, workload);
  if (readyTask(workload, state.nowMs) !== null) queue.add(workload);
  if (notBeforeMs > state.nowMs) timers.add({ kind: "retry", atMs: notBeforeMs, workloadId });
  // New work has no retries, so no list of them is built.
  if (workload.waitingTasks.length === 0) return;
  for (const { retryAtMs } of waitingTasksOf(workload))
    if (retryAtMs > state.nowMs) timers.add({ kind: "retry", atMs: retryAtMs, workloadId });
}

/** Indexes the work for whose end or artifacts the workload waits. */
export function fileDependencies({ dependents }: World, workload: Workload): void {
  const { id: workloadId, waitsFor = NONE } = workload;
  for (const wait of waitsFor) {
    const known = dependents.get(wait.workloadId);
    if (known === undefined) dependents.set(wait.workloadId, [workloadId]);
    // A workload that runs again may still be listed from before; its place is now that of a new submission.
    else if (workload.rerun !== undefined)
      dependents.set(wait.workloadId, [...known.filter((id) => id !== workloadId), workloadId]);
    else known.push(workloadId);
  }
}

function fileEndpoint({ shrinking, endpoints, rollouts }: World, { id, scale, rollout }: Workload): void {
  if (scale === undefined) return;
  shrinking.add(id);
  endpoints.add(id);
  if (rollout !== undefined) rollouts.add(id);
}

const NONE: NonNullable<Workload["waitsFor"]> = [];

function holdNominations(world: World): void {
  for (const nomination of world.state.nominations.values()) {
    holdNomination(world, nomination, 1);
    waitForWindowsAhead(world, nomination);
  }
}

/** Schedules the wakeups for everything that changes with time alone. */
function waitForTheClock(world: World): void {
  const { state, timers, calendar } = world;
  for (const { window } of calendar.windows) waitForWindow(timers, window);
  for (const item of state.schedules.values()) waitForSchedule(world, item);
  waitForPipelines(timers, state);
  for (const atMs of state.migrated.values()) waitForRest(world, atMs);
  for (const proposal of state.proposals.values()) waitForProposal(world, proposal);
  // The first round looks at the nodes that the engine ordered and at the work that waits for orders, and schedules its own wakeups.
  if (world.isAnyBursting || state.burstAccounts.size > 0) timers.add({ kind: "calendar", atMs: state.nowMs });
  const hasBudget = [...state.workloads.values()].some(({ account }) => account !== undefined);
  if (state.accounts.size > 0 || hasBudget) timers.add({ kind: "budget", atMs: state.nowMs });
}

/** Schedules wakeups for the expiry of a proposal, for its score, and for the budget of change that it has used. */
export function waitForProposal({ timers, state }: World, { phase, expiresAtMs, actedAtMs, effect }: Proposal): void {
  if (phase === "advised" || phase === "simulated") timers.add({ kind: "calendar", atMs: expiresAtMs });
  if (phase === "approved") timers.add({ kind: "calendar", atMs: state.nowMs });
  if (actedAtMs === null) return;
  timers.add({ kind: "calendar", atMs: actedAtMs + HOUR_MS });
  if (phase === "acted") timers.add({ kind: "calendar", atMs: actedAtMs + (effect?.horizonMs ?? 0) });
}

/** The instant by which a running replica must be ready; `null`: it is ready, or the attempt is no replica. */
export function readyByMs(spec: WorkloadSpec, { ready, startedAtMs, notReadySinceMs }: Attempt): number | null {
  if (spec.kind !== "serve" || ready !== undefined || startedAtMs === null) return null;
  return (notReadySinceMs ?? startedAtMs) + spec.ready.timeoutMs;
}

/** Schedules a wakeup for the end of the time in which a replica must become ready. */
export function waitForReadiness(world: World, workload: Workload, attempt: Attempt): void {
  if (workload.spec.kind !== "serve") return;
  const atMs = readyByMs(revisionOf(workload, attempt).spec, attempt);
  if (atMs !== null) world.timers.add({ kind: "readiness", atMs, attemptId: attempt.id });
}

/** Schedules a wakeup for the walltime or the predicted end of running work. */
export function waitForItsTime(timers: Timers, attempt: Attempt, walltimeMs: number | null): void {
  if (attempt.startedAtMs !== null && walltimeMs !== null)
    timers.add({ kind: "walltime", atMs: attempt.startedAtMs + walltimeMs, attemptId: attempt.id });
  waitForPrediction(timers, attempt, walltimeMs);
}

/** Schedules a wakeup for running work that outlives its prediction; at its walltime it is stopped. */
export function waitForPrediction(
  timers: Timers,
  { id, startedAtMs, prediction }: Attempt,
  walltimeMs: number | null,
): void {
  if (startedAtMs === null || prediction === undefined) return;
  if (prediction.durationMs < (walltimeMs ?? PREDICTED_MS_MAX))
    timers.add({ kind: "prediction", atMs: startedAtMs + prediction.durationMs, attemptId: id });
}

/**
 * Schedules a wakeup for the time when the migration rate allows more migrations, and when a migrated workload's rest
 * is over.
 */
export function waitForRest({ timers }: World, migratedAtMs: number): void {
  timers.add({ kind: "calendar", atMs: migratedAtMs + HOUR_MS });
  timers.add({ kind: "calendar", atMs: migratedAtMs + MIGRATION_REST_MS });
}

export function waitForSchedule({ timers }: World, { schedule, lookedAtMs }: ScheduleItem): void {
  const atMs = nextDueMs(schedule.times, lookedAtMs);
  if (atMs !== null) timers.add({ kind: "schedule", atMs });
}

/** Schedules a wakeup when tariffs expire, and when start windows must be re-checked. */
function waitForPower(world: World): void {
  const { state, timers } = world;
  for (const { entry } of state.calendar.values()) if (entry.kind === "tariff") waitForTariff(timers, entry);
  const lookAtMs = nextLookMs(world, state.nowMs);
  if (lookAtMs !== null) timers.add({ kind: "calendar", atMs: lookAtMs });
}

/** Schedules a wakeup when a tariff that does not recur expires. */
export function waitForTariff(timers: Timers, { when }: Tariff): void {
  if (when.kind !== "recurring") timers.add({ kind: "calendar", atMs: tariffEndMs(when) });
}

export function waitForWindow(timers: Timers, { startMs, endMs }: TimeWindow): void {
  timers.add({ kind: "calendar", atMs: startMs });
  timers.add({ kind: "calendar", atMs: endMs });
}

/** Schedules a wakeup for the time at which a nomination would overlap a window on its nodes. */
export function waitForWindowsAhead(world: World, nomination: Nomination): void {
  waitForClosing(world, nomination, (spec, startMs) => {
    const atMs = startMs - windowDurationMs(world.rules, spec) - spec.graceTimeoutMs + 1;
    return atMs > world.state.nowMs ? atMs : null;
  });
}

/** Schedules a wakeup when an attempt must be stopped for a window on one of its nodes. */
export function waitForWindows(world: World, attempt: Attempt): void {
  waitForClosing(world, attempt, (spec, startMs) => {
    const atMs = latestEndMs(world.rules, attempt, { spec, startMs });
    return atMs === null ? null : Math.max(0, atMs);
  });
}

/**
 * Schedules wakeups for windows. `instantFor`: the instant of the wakeup for a window that closes a node to this work,
 * or `null` if none is needed.
 */
function waitForClosing(
  { calendar, state, timers }: World,
  { workloadId, workers }: Pick<Attempt, "workloadId" | "workers">,
  instantFor: (spec: WorkloadSpec, startMs: number) => number | null,
): void {
  if (!calendar.hasWindows) return;
  const { spec, actor } = state.workloads.get(workloadId) as WorkloadEntity;
  for (const { window, nodes } of calendar.windows) {
    if (!workers.some(({ node }) => nodes.has(node)) || calendar.isFor(window, { team: spec.team, actor })) continue;
    const atMs = instantFor(spec, window.startMs);
    if (atMs !== null) timers.add({ kind: "calendar", atMs });
  }
}

/** Schedules these wakeups again after windows or rules changed. */
export function waitForEveryWindow(world: World): void {
  for (const attempt of world.state.attempts.values()) waitForWindows(world, attempt);
  for (const nomination of world.state.nominations.values()) waitForWindowsAhead(world, nomination);
}
