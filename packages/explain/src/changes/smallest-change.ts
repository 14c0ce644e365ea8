/**
 * The smallest change of each kind that would start a waiting workload. Each is proven by a counterfactual round on a
 * fork of the live state. `smallest-of.ts` searches the values of one kind.
 */
import { clockOf, readyTask, waitingTaskCount } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import type { WorkloadId, Workload, WorkloadSpec } from "@headroom/model";
import { worldOf, reservationsOf, isWaitingForTime } from "@headroom/engine/internals";
import type { Reservation } from "@headroom/engine/internals";
import { CHANGE_KINDS } from "./change.ts";
import type { StartingChange } from "./change.ts";
import { findOther, linesWithLowerBound } from "./other-counterfactuals.ts";
import { ownChanges } from "./own-changes.ts";
import type { OwnChange } from "./own-changes.ts";
import { firstLowerBound, smallestOf } from "./smallest-of.ts";
import { timelyChanges } from "./timely-changes.ts";
import type { TimelyChange } from "./timely-changes.ts";
import { Counterfactuals } from "./counterfactuals.ts";
import type { Outcome, Question, Stage } from "./counterfactuals.ts";
import type { Values } from "./values.ts";

/**
 * For each kind the smallest change that starts the workload now, in order of kinds. The list is empty if no single
 * change suffices. It is also empty if the workload waits for the end of other work, or for its own retry, and no
 * change brings that about.
 */
export function smallestChanges(engine: Engine, id: WorkloadId): readonly StartingChange[] {
  const world = worldOf(engine);
  const workload = world.state.workloads.get(id);
  if (workload === undefined || workload.endedAtMs !== null || !mayBeAsked(workload, clockOf(engine))) return [];
  const counterfactuals = new Counterfactuals(engine);
  // A round without a change yields the protected starts, and whether the workload starts without any change.
  const undisturbed = counterfactuals.stage(id);
  if (counterfactuals.undisturbed(undisturbed, null) !== null) return [];
  return findSmallest({ counterfactuals, undisturbed, spec: resubmitted(workload), target: id });
}

/** Whether the workload is eligible now, or would be without its hold reason. */
const mayBeAsked = (workload: Workload, nowMs: number): boolean =>
  readyTask(workload, nowMs) !== null || (waitingTaskCount(workload) > 0 && isWaitingForTime(workload, nowMs));

/** The spec for the resubmission. Dependencies that are met and tasks that have started are removed. */
function resubmitted(workload: Workload): WorkloadSpec {
  const { after: _after, hold: _hold, startWindow, ...others } = workload.spec;
  const rest = workload.waitsForStartWindow === true && startWindow !== undefined ? { ...others, startWindow } : others;
  const missing = waitingTaskCount(workload);
  if (rest.kind === "serve") return { ...rest, replicas: { min: missing, max: Math.max(1, missing) } };
  return rest.kind === "batch" ? { ...rest, taskCount: missing } : rest;
}

export function findSmallest(question: Question): readonly StartingChange[] {
  const { undisturbed } = question;
  const world = worldOf(undisturbed.engine);
  const waiting = undisturbed.target === null ? undefined : world.state.workloads.get(undisturbed.target);
  const timely = waiting === undefined ? null : timelyChanges(world, waiting, question);
  if (timely !== null) return firstTimely(question, timely);
  // Both searches read the unchanged fork, so they precede all runs.
  const own = readOwn(question);
  const lines = linesWithLowerBound(question);
  const changes = [...findOwn(question, own), ...findOther(question, lines)];
  const rank = ({ change }: StartingChange): number => CHANGE_KINDS.indexOf(change.kind);
  return changes.toSorted((left, right) => rank(left) - rank(right));
}

function firstTimely(
  { counterfactuals, spec, target }: Question,
  changes: readonly TimelyChange[],
): readonly StartingChange[] {
  for (const { change, spec: changed, inputs } of changes) {
    const stage = counterfactuals.stage(target);
    const { start } =
      changed === null && target !== null
        ? counterfactuals.run(stage, inputs)
        : counterfactuals.submit(stage, changed ?? spec, inputs);
    if (start !== null) return [{ change, start }];
  }
  return [];
}

interface OwnSearch {
  readonly kinds: readonly Values<OwnChange>[];
  /** Protected starts of a round without a change. */
  readonly reservations: readonly Reservation[];
}

function readOwn({ counterfactuals, undisturbed, spec, target }: Question): OwnSearch {
  const world = worldOf(undisturbed.engine);
  const waiting = target === null ? undefined : world.state.workloads.get(target);
  return { kinds: ownChanges(world, spec, waiting, counterfactuals.nowMs), reservations: reservationsOf(world) };
}

function findOwn({ counterfactuals, target }: Question, { kinds, reservations }: OwnSearch): readonly StartingChange[] {
  let stage: Stage = counterfactuals.stage(target);
  const renewed = (): Stage => {
    if (stage.isUsed) stage = counterfactuals.stage(target);
    return stage;
  };
  const couldStart = ({ spec }: OwnChange): boolean => counterfactuals.couldSubmit(renewed(), spec, reservations);
  const found = kinds.flatMap((values): readonly StartingChange[] => {
    const tries = (index: number): Outcome => {
      const own = values.at(index);
      if (!values.isMonotone && !couldStart(own)) return RULED_OUT;
      const outcome = counterfactuals.submit(renewed(), own.spec);
      counterfactuals.goBack(stage);
      return outcome;
    };
    const smallest = smallestOf(values, firstLowerBound(values, couldStart), tries);
    return smallest === null ? [] : [{ change: values.at(smallest.index).change, start: smallest.start }];
  });
  counterfactuals.giveBack(stage);
  return found;
}

const RULED_OUT: Outcome = { start: null, missing: 0 };
