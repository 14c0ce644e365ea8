/**
 * The smallest change of each kind that would start something that waits, each of them tried: a round of the engine on a fork
 * of the live state starts it. Values of a kind are tried from the smallest change up; where there are many, ever larger
 * steps find one that works and halving finds the smallest before it.
 */
import { clockOf, worldOf } from "../engine.ts";
import type { Input } from "../inputs.ts";
import type { WorkloadId } from "../model/ids.ts";
import type { Workload, WorkloadSpec } from "../model/workload.ts";
import type { Engine } from "../ready.ts";
import { isWaitingForTime, readyTask, waitingTaskCount } from "../state/ready-task.ts";
import { CHANGE_KINDS } from "./change.ts";
import type { Change, StartingChange, WouldStart } from "./change.ts";
import { changedSpec } from "./changed-spec.ts";
import type { OwnChange } from "./changed-spec.ts";
import { admittedData, fewerSpares, laterWindows, resumedNodes } from "./fleet-changes.ts";
import { afterEnds, largerGuarantees, largerLimits, moreNodes } from "./other-changes.ts";
import type { OtherChange, OtherLine } from "./other-changes.ts";
import type { OtherHope } from "./other-hope.ts";
import { ownChanges } from "./own-changes.ts";
import { timelyChanges, timelyInputs } from "./timely-changes.ts";
import type { TimelyChange } from "./timely-changes.ts";
import { Trials } from "./trials.ts";
import type { Stage } from "./trials.ts";
import type { Values } from "./values.ts";

/** So many values of a kind are tried one by one: then nothing smaller works, whatever depends on what. */
const TRIED_ONE_BY_ONE = 8;
/** So many are looked at one by one for hope, which costs less than to try them. */
const LOOKED_AT_ONE_BY_ONE = 32;
/** Beyond those that are tried one by one each step is so many times as long as the one before. */
const STEPS_GROW = 4;

/**
 * For each kind of change the smallest that starts it now, the cheapest kind first; empty: no single change does, or it waits
 * for nothing that a change could bring (other work's end, a retry).
 */
export function smallestChanges(engine: Engine, id: WorkloadId): readonly StartingChange[] {
  const world = worldOf(engine);
  const workload = world.state.workloads.get(id);
  if (workload === undefined || workload.endedAtMs !== null || !mayBeAsked(workload, clockOf(engine))) return [];
  const trials = new Trials(engine);
  // A round that is not disturbed tells which starts are protected now, and whether it starts anyway.
  const undisturbed = trials.stage(id);
  if (trials.undisturbed(undisturbed, null) !== null) return [];
  return findSmallest({ trials, undisturbed, spec: resubmitted(workload), target: id });
}

/** Now, or once nothing keeps it from being asked. */
const mayBeAsked = (workload: Workload, nowMs: number): boolean =>
  readyTask(workload, nowMs) !== null || (waitingTaskCount(workload) > 0 && isWaitingForTime(workload, nowMs));

/** What is submitted in its place: what it waited for has happened, and of an array what has started is not asked for again. */
function resubmitted(workload: Workload): WorkloadSpec {
  const { after: _after, hold: _hold, offPeak, ...others } = workload.spec;
  const rest = workload.waitsForOffPeak === true && offPeak !== undefined ? { ...others, offPeak } : others;
  return rest.kind === "batch" ? { ...rest, taskCount: waitingTaskCount(workload) } : rest;
}

export interface Question {
  readonly trials: Trials;
  /** Where it waits after a round in which nothing else happened. */
  readonly undisturbed: Stage;
  readonly spec: WorkloadSpec;
  /** The work as it waits live; `null`: it is not submitted yet. */
  readonly target: WorkloadId | null;
}

export function findSmallest(question: Question): readonly StartingChange[] {
  const { trials, undisturbed } = question;
  const world = worldOf(undisturbed.engine);
  const waiting = undisturbed.target === null ? undefined : world.state.workloads.get(undisturbed.target);
  const timely = waiting === undefined ? null : timelyChanges(world, waiting, trials.nowMs);
  if (timely !== null) return firstTimely(question, timely);
  const changes = [...findOwn(question), ...findOther(question)];
  const rank = ({ change }: StartingChange): number => CHANGE_KINDS.indexOf(change.kind);
  return changes.toSorted((left, right) => rank(left) - rank(right));
}

function firstTimely({ trials, spec, target }: Question, changes: readonly TimelyChange[]): readonly StartingChange[] {
  for (const change of changes) {
    const stage = trials.stage(target);
    const inputs = timelyInputs(worldOf(stage.engine), change, target);
    const start =
      change.kind === "dropNotBefore" || change.kind === "dropOffPeak" || target === null
        ? trials.submit(stage, change.kind === "largerBudget" ? spec : changedSpec(spec, change), inputs)
        : trials.run(stage, inputs);
    if (start !== null) return [{ change, start }];
  }
  return [];
}

/** How values of one kind are looked at: at little cost whether there is hope, and in a round whether it starts. */
interface Looks<Of> {
  /** The first value that is not ruled out; their count: all are. */
  firstHope(values: Values<Of>): number;
  /** Asked where one value says nothing of another. */
  couldStart(change: Of): boolean;
  starts(change: Of): WouldStart | null;
}

function findOwn(question: Question): readonly StartingChange[] {
  const { trials, undisturbed, spec, target } = question;
  const world = worldOf(undisturbed.engine);
  const probe = trials.stage(target);
  let stage: Stage | null = null;
  const couldStart = (change: OwnChange): boolean =>
    trials.couldSubmit(probe, changedSpec(spec, change), world.reservations);
  const looks: Looks<OwnChange> = {
    firstHope: (values) => firstHope(values, couldStart),
    couldStart,
    starts: (change) => {
      if (stage === null || stage.isUsed) stage = trials.stage(target);
      return trials.submit(stage, changedSpec(spec, change));
    },
  };
  const runs = target !== null && (world.state.workloads.get(target)?.activeAttempts.length ?? 0) > 0;
  return ownChanges(world, { spec, runs }, trials.nowMs).flatMap((values) => smallestOf(values, looks) ?? []);
}

/**
 * The first of ever larger changes with which there is hope. Beyond those that are looked at one by one there is with a smaller one
 * only if there is with the largest; asking for less may also lessen what a team may claim, so that of those nothing is concluded.
 */
function firstHope<Of>(values: Values<Of>, couldStart: (change: Of) => boolean): number {
  const { count, isMonotone } = values;
  if (!isMonotone || count === 0) return 0;
  for (let index = 0; index < Math.min(LOOKED_AT_ONE_BY_ONE, count); index++)
    if (couldStart(values.at(index))) return index;
  if (count <= LOOKED_AT_ONE_BY_ONE || !couldStart(values.at(count - 1))) return count;
  let ruledOut = LOOKED_AT_ONE_BY_ONE - 1;
  let first = count - 1;
  while (first - ruledOut > 1) {
    const middle = (ruledOut + first) >> 1;
    if (couldStart(values.at(middle))) first = middle;
    else ruledOut = middle;
  }
  return first;
}

function findOther(question: Question): readonly StartingChange[] {
  const { trials, undisturbed, spec, target } = question;
  const world = worldOf(undisturbed.engine);
  const waiting = undisturbed.target === null ? undefined : world.state.workloads.get(undisturbed.target);
  if (waiting === undefined) return [];
  const found = world.queue.classOf(waiting);
  const hope = trials.hope(trials.stage(target, spec));
  if (hope === null) return [];
  const lines = [
    ...largerGuarantees(world, found),
    ...largerLimits(world, found),
    ...resumedNodes(world, found),
    ...laterWindows(world, found),
    ...fewerSpares(world, found),
    ...admittedData(world, found),
    afterEnds(world, trials.nowMs),
    ...moreNodes(world, found),
  ];
  return onePerKind(lines.flatMap((line) => smallestOf(line.values, looksAtOther(question, line, hope)) ?? []));
}

function looksAtOther({ trials, spec, target }: Question, line: OtherLine, hope: OtherHope): Looks<OtherChange> {
  let stage: Stage | null = null;
  /** What has come about on the stage. */
  let last: OtherChange | null = null;
  return {
    firstHope: () => line.firstHope(hope),
    couldStart: () => true,
    starts: (change) => {
      let inputs: readonly Input[] | null = stage === null || stage.isUsed ? null : line.inputs(change, last);
      if (stage === null || inputs === null) {
        stage = trials.stage(target);
        inputs = line.inputs(change, null) ?? [];
      }
      last = change;
      return target === null ? trials.submit(stage, spec, inputs) : trials.run(stage, inputs);
    },
  };
}

/** Of several lines of one kind (types, teams) the one with the smallest step. */
function onePerKind(changes: readonly StartingChange[]): readonly StartingChange[] {
  const best = new Map<Change["kind"], StartingChange>();
  for (const each of changes) {
    const known = best.get(each.change.kind);
    if (known === undefined || stepOf(each.change) < stepOf(known.change)) best.set(each.change.kind, each);
  }
  return [...best.values()];
}

function stepOf(change: Change): number {
  if (change.kind === "largerLimit" || change.kind === "largerGuarantee") return change.to - (change.from ?? 0);
  if (change.kind === "resumeNodes") return change.nodes.length;
  if (change.kind === "laterWindow") return change.toMs - change.fromMs;
  if (change.kind === "fewerSpares") return change.from - change.to;
  return change.kind === "moreNodes" ? change.count : 0;
}

/** The first value that starts it. */
function smallestOf<Of extends Change>(values: Values<Of>, looks: Looks<Of>): StartingChange | null {
  const { isMonotone } = values;
  const tried = (index: number): StartingChange | null => {
    const change = values.at(index);
    if (!isMonotone && !looks.couldStart(change)) return null;
    const start = looks.starts(change);
    return start === null ? null : { change, start };
  };
  const first = looks.firstHope(values);
  const count = Math.min(values.count, first + values.reach);
  let failed = first - 1;
  for (let step = 1; failed + 1 < count;) {
    const index = Math.min(count - 1, failed + step);
    const found = tried(index);
    if (found !== null) return between({ failed, index, found }, tried);
    if (isMonotone && index === first && index < count - 1 && tried(count - 1) === null) return null;
    failed = index;
    if (failed + 1 >= TRIED_ONE_BY_ONE) step *= STEPS_GROW;
  }
  return null;
}

interface Bracket {
  readonly failed: number;
  readonly index: number;
  readonly found: StartingChange;
}

/** Halves what lies between a value that does not start it and one that does. */
function between(bracket: Bracket, tried: (index: number) => StartingChange | null): StartingChange {
  let { failed, index, found } = bracket;
  while (index - failed > 1) {
    const middle = (failed + index) >> 1;
    const other = tried(middle);
    if (other === null) failed = middle;
    else {
      index = middle;
      found = other;
    }
  }
  return found;
}
