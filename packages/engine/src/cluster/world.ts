/** The state, and the indexes that are rebuilt from it. Only `apply/` writes to either. */
import type { ScheduleItem } from "../model/schedule.ts";
import { nextDueMs } from "../model/time/due.ts";
import { tariffEndMs } from "../model/calendar.ts";
import type { Tariff, TimeWindow } from "../model/calendar.ts";
import type { TeamName, WorkloadId } from "../model/ids.ts";
import type { Attempt, Nomination, Workload } from "../model/workload.ts";
import { HOUR_MS } from "../policy/defragment-rules.ts";
import { PREDICTED_MS_MAX } from "../usage/run-times.ts";
import { nextLookMs } from "./start-window.ts";
import { rulesOf } from "../policy/rules.ts";
import type { Rules } from "../policy/rules.ts";
import { BudgetIndex } from "./budget-index.ts";
import { windowDurationMs } from "../usage/planned-duration.ts";
import { CalendarIndex } from "./calendar-index.ts";
import { latestEndMs } from "./latest-end.ts";
import { Capacity } from "./capacity.ts";
import { CellIndex } from "./cell-index.ts";
import { growthOf, holdAttempt, holdNomination } from "./holdings.ts";
import { CompletionIndex } from "./completion-index.ts";
import { workloadOf } from "./entities.ts";
import type { EvictableWork } from "./evictable-work.ts";
import { FabricIndex } from "./fabric-index.ts";
import { Scratch } from "./scratch.ts";
import { Fifo } from "../base/collections/fifo.ts";
import { StartWindowIndex } from "./start-window-index.ts";
import { DecayedUsageIndex } from "./decayed-usage-index.ts";
import { Queue } from "./queue.ts";
import { TeamUse } from "./team-use.ts";
import { Timers } from "./timers.ts";
import { readyTask } from "../state/ready-task.ts";
import type { ReadonlyState, WorkloadEntity } from "../state/state.ts";

export interface World {
  readonly state: ReadonlyState;
  /** The policy in force with what it leaves out filled in. */
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
  readonly cells: CellIndex;
  readonly completions: CompletionIndex;
  /** What may be evicted, by team; nothing while no phase asks anybody to leave. */
  readonly evictable: Map<TeamName, EvictableWork>;
  /** Attempts that a plan asked to leave, whole or some of their workers. */
  readonly terminating: Set<Attempt>;
  /** Memo data of other rooms. */
  readonly scratch: Scratch;
  /** Events of what waits, and not of what is held, promised or defined, among all of them since the world was indexed. */
  queueEventCount: number;
  /** The entities that were looked up last (`entities.ts`). */
  readonly recent: { workload: WorkloadEntity | null; attempt: Attempt | null };
  /** How many nodes the pools state as spares, in all. */
  hotSparesStated: number;
  /** Who waits for the end of a workload that has not ended. */
  readonly dependents: Map<WorkloadId, WorkloadId[]>;
  /** Ended workloads that are still kept, oldest end first. */
  readonly endedKept: WorkloadId[];
  /** Positions at the front of `endedKept` that were dropped already. */
  endedDropped: number;
  /** Keys of `state.answers`, oldest first. */
  readonly answerKeys: Fifo<string>;
}

/** Moves on with every event that is not of what waits alone: as long as it stands, everybody holds what they held. */
export const bookedSequenceOf = ({ state, queueEventCount }: World): number => state.sequence - queueEventCount;

const hotSparesOf = ({ pools }: ReadonlyState): number =>
  [...pools.values()].reduce((sum, { hotSpares = 0 }) => sum + hotSpares, 0);

/** Builds every index from the state: after a restore, and in tests to check the ones kept up to date. */
export function indexState(state: ReadonlyState): World {
  const rules = rulesOf(state.policy);
  const capacity = new Capacity();
  const teamUse = new TeamUse(state.teams, rules);
  const calendar = new CalendarIndex(state);
  const queue = new Queue(rules, { calendar, users: teamUse.users, runTimes: state.runTimes });
  const timers = new Timers();
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
    cells: new CellIndex(state),
    completions: new CompletionIndex(rules),
    evictable: new Map(),
    terminating: new Set(),
    scratch: new Scratch(),
    queueEventCount: 0,
    recent: { workload: null, attempt: null },
    hotSparesStated: hotSparesOf(state),
    dependents: new Map(),
    endedKept: [],
    endedDropped: 0,
    answerKeys: new Fifo(state.answers.keys()),
  };
  for (const node of state.nodes.values()) capacity.join(node);
  for (const attempt of state.attempts.values()) {
    holdAttempt(world, attempt);
    const workload = state.workloads.get(attempt.workloadId) as WorkloadEntity;
    waitForItsTime(timers, attempt, workload.spec.walltimeMs);
    if (attempt.stop?.checkpointUntilMs !== undefined)
      timers.add({ kind: "checkpoint", atMs: attempt.stop.checkpointUntilMs, attemptId: attempt.id });
    queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
    waitForMinRuntime(world, attempt, state.nowMs);
    waitForWindows(world, attempt);
  }
  waitForTheClock(world);
  for (const nomination of state.nominations.values()) {
    holdNomination(world, nomination, 1);
    waitForWindowsAhead(world, nomination);
  }
  const ended: WorkloadEntity[] = [];
  for (const workload of state.workloads.values()) {
    if (workload.endedAtMs !== null) {
      ended.push(workload);
      continue;
    }
    workload.placementClass = null;
    if (readyTask(workload, state.nowMs) !== null) queue.add(workload);
    waitForOthers(world, workload);
    world.startWindow.add(workload);
    waitForTime(world, workload, state.nowMs);
    waitForRetries(world, workload);
  }
  waitForPower(world);
  for (const { id } of ended.toSorted((left, right) => left.endOrdinal - right.endOrdinal)) world.endedKept.push(id);
  return world;
}

/** Wakes the engine for what comes by the clock alone. */
function waitForTheClock(world: World): void {
  const { state, timers, calendar } = world;
  for (const { window } of calendar.windows) waitForWindow(timers, window);
  for (const item of state.schedules.values()) waitForSchedule(world, item);
  for (const atMs of state.moved.values()) waitForRest(world, atMs);
  if (state.accounts.size > 0) timers.add({ kind: "budget", atMs: state.nowMs });
}

/** Files work under everything whose end it waits for. */
export function waitForOthers({ dependents }: World, { id, waitsFor }: Workload): void {
  for (const { workloadId } of waitsFor ?? []) {
    const known = dependents.get(workloadId);
    if (known === undefined) dependents.set(workloadId, [id]);
    else known.push(id);
  }
}

/** Wakes the engine when work may be taken for others that was promised to run until then. */
export function waitForMinRuntime(world: World, { workloadId, placedAtMs }: Attempt, nowMs: number): void {
  const { minRuntimeMs } = workloadOf(world, workloadId).spec;
  if (minRuntimeMs !== undefined && placedAtMs + minRuntimeMs > nowMs)
    world.timers.add({ kind: "retry", atMs: placedAtMs + minRuntimeMs, workloadId });
}

/** Wakes the engine when back-offs are over. */
function waitForRetries({ state, timers }: World, { id, retries }: Workload): void {
  for (const { notBeforeMs } of retries)
    if (notBeforeMs > state.nowMs) timers.add({ kind: "retry", atMs: notBeforeMs, workloadId: id });
}

/** Wakes the engine when the time of work comes that may not start before. */
export function waitForTime({ timers }: World, { id, spec, endedAtMs }: Workload, nowMs: number): void {
  if (spec.notBeforeMs !== undefined && spec.notBeforeMs > nowMs && endedAtMs === null)
    timers.add({ kind: "retry", atMs: spec.notBeforeMs, workloadId: id });
}

/** Wakes the engine when work that runs has run for its walltime, or as long as was predicted. */
export function waitForItsTime(timers: Timers, attempt: Attempt, walltimeMs: number | null): void {
  if (attempt.startedAtMs !== null && walltimeMs !== null)
    timers.add({ kind: "walltime", atMs: attempt.startedAtMs + walltimeMs, attemptId: attempt.id });
  waitForPrediction(timers, attempt, walltimeMs);
}

/** Wakes the engine when work that runs outlives what was predicted of it; at its walltime it is stopped. */
export function waitForPrediction(
  timers: Timers,
  { id, startedAtMs, prediction }: Attempt,
  walltimeMs: number | null,
): void {
  if (startedAtMs === null || prediction === undefined) return;
  if (prediction.durationMs < (walltimeMs ?? PREDICTED_MS_MAX))
    timers.add({ kind: "prediction", atMs: startedAtMs + prediction.durationMs, attemptId: id });
}

/** Wakes the engine when more may be moved, and when what was moved may move again. */
export function waitForRest({ timers, rules }: World, movedAtMs: number): void {
  timers.add({ kind: "calendar", atMs: movedAtMs + HOUR_MS });
  timers.add({ kind: "calendar", atMs: movedAtMs + (rules.defragment?.restMs ?? HOUR_MS) });
}

/** Wakes the engine when a schedule is due. */
export function waitForSchedule({ timers }: World, { schedule, lookedAtMs }: ScheduleItem): void {
  const atMs = nextDueMs(schedule.times, lookedAtMs);
  if (atMs !== null) timers.add({ kind: "schedule", atMs });
}

/** Wakes the engine when tariffs leave the calendar, and when work that starts only off-peak has to be looked at. */
function waitForPower(world: World): void {
  const { state, timers } = world;
  for (const { entry } of state.calendar.values()) if (entry.kind === "tariff") waitForTariff(timers, entry);
  const lookAtMs = nextLookMs(world, state.nowMs);
  if (lookAtMs !== null) timers.add({ kind: "calendar", atMs: lookAtMs });
}

/** Wakes the engine when a tariff that does not come back is over and leaves the calendar. */
export function waitForTariff(timers: Timers, { when }: Tariff): void {
  if (when.kind !== "recurring") timers.add({ kind: "calendar", atMs: tariffEndMs(when) });
}

/** Wakes the engine when a window begins and ends. */
export function waitForWindow(timers: Timers, { startMs, endMs }: TimeWindow): void {
  timers.add({ kind: "calendar", atMs: startMs });
  timers.add({ kind: "calendar", atMs: endMs });
}

/** Wakes the engine when what is promised a place would run into a window there. */
export function waitForWindowsAhead(
  { calendar, rules, state, timers }: World,
  { workloadId, workers }: Nomination,
): void {
  if (!calendar.hasWindows) return;
  const { spec, actor } = state.workloads.get(workloadId) as WorkloadEntity;
  const lastsMs = windowDurationMs(rules, spec) + spec.graceTimeoutMs;
  for (const { window, nodes } of calendar.windows) {
    if (!workers.some(({ node }) => nodes.has(node)) || calendar.isFor(window, { team: spec.team, actor })) continue;
    const atMs = window.startMs - lastsMs + 1;
    if (atMs > state.nowMs) timers.add({ kind: "calendar", atMs });
  }
}

/** Wakes the engine when an attempt would have to be stopped for a window on one of its nodes. */
export function waitForWindows({ calendar, rules, state, timers }: World, attempt: Attempt): void {
  if (!calendar.hasWindows) return;
  const { workloadId, workers } = attempt;
  const { spec, actor } = state.workloads.get(workloadId) as WorkloadEntity;
  for (const { window, nodes } of calendar.windows) {
    if (!workers.some(({ node }) => nodes.has(node)) || calendar.isFor(window, { team: spec.team, actor })) continue;
    const atMs = latestEndMs(rules, attempt, { spec, startMs: window.startMs });
    if (atMs !== null) timers.add({ kind: "calendar", atMs: Math.max(0, atMs) });
  }
}
