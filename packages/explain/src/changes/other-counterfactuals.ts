/**
 * Runs changes by others on one fork, one kind after another. The inputs of a larger value extend those of a smaller
 * one; to go back to a smaller value, inputs are undone. The fork is reset before the next kind.
 */
import { worldOf } from "@headroom/engine/internals";
import type { Input } from "@headroom/model";
import type { Change, StartingChange } from "./change.ts";
import { admittedData, fewerHotSpares, laterWindows, resumedNodes } from "./fleet-changes.ts";
import { afterEnds, moreNodes } from "./other-changes.ts";
import type { OtherLine } from "./other-changes.ts";
import { smallestOf } from "./smallest-of.ts";
import { largerGuarantees, largerLimits } from "./team-amounts.ts";
import type { Outcome, Question, Stage } from "./counterfactuals.ts";

/** A kind of change, and the index of its first value that the lower bound does not rule out. */
interface Hoped {
  readonly line: OtherLine;
  readonly first: number;
}

/**
 * The kinds of change to try, with lower bounds computed on an unchanged fork. The list is empty if the workload is not
 * submitted, or not eligible on that fork.
 */
export function linesWithLowerBound({ counterfactuals, undisturbed, spec, target }: Question): readonly Hoped[] {
  const world = worldOf(undisturbed.engine);
  const waiting = undisturbed.target === null ? undefined : world.state.workloads.get(undisturbed.target);
  if (waiting === undefined) return [];
  const found = world.queue.classOf(waiting);
  const fleet = [
    ...resumedNodes(world, found.request),
    ...laterWindows(world, found.request),
    ...fewerHotSpares(world, found.request),
    ...admittedData(world, found.request),
  ];
  const lines = [
    ...largerGuarantees(world, found.request),
    ...largerLimits(world, found.request),
    ...fleet,
    afterEnds(world, counterfactuals.nowMs),
    ...moreNodes(world, found.request),
  ];
  counterfactuals.giveBack(undisturbed);
  const stage = counterfactuals.stage(target, spec);
  const lowerBound = counterfactuals.lowerBound(stage);
  if (lowerBound === null) return [];
  const hoped = lines.map((line) => ({ line, first: line.firstLowerBound?.(lowerBound) ?? 0 }));
  lowerBound.end();
  // Fleet changes are restored well enough for lower bounds but not for runs, so the fork is reused only if there are
  // none.
  if (target !== null && fleet.length === 0) counterfactuals.giveBack(stage);
  return hoped;
}

export const findOther = (question: Question, lines: readonly Hoped[]): readonly StartingChange[] =>
  onePerKind(lines.flatMap((hoped) => smallestOnLine(question, hoped) ?? []));

/** Runs the values of one kind of change on a fork without other changes. */
function smallestOnLine({ counterfactuals, spec, target }: Question, { line, first }: Hoped): StartingChange | null {
  let stage: Stage | null = null;
  /** Indexes of the values applied to the fork, in order. */
  let reached: number[] = [];
  // The inputs that lead to a value. They start from the newest applied value that can be extended to it, and values
  // after that one are undone. `null` if there are no such inputs.
  const inputsFrom = (used: Stage, index: number): readonly Input[] | null => {
    for (; !used.isUsed && reached.length > 0; reached.pop()) {
      const inputs = line.inputs(index, reached.at(-1) as number);
      if (inputs !== null) return inputs;
      counterfactuals.goBack(used);
    }
    return null;
  };
  const tries = (index: number): Outcome => {
    let inputs = stage === null ? null : inputsFrom(stage, index);
    if (stage === null || inputs === null) {
      stage = counterfactuals.stage(target);
      reached = [];
      inputs = line.inputs(index, -1) ?? [];
    }
    reached.push(index);
    return target === null ? counterfactuals.submit(stage, spec, inputs) : counterfactuals.run(stage, inputs);
  };
  const found = smallestOf(line.values, first, tries, (index, missing) => line.beyond?.(index, missing) ?? index + 1);
  const last = stage as Stage | null;
  if (last !== null && !last.isUsed && target !== null) counterfactuals.giveBack(last, line.before ?? null);
  return found === null ? null : { change: line.values.at(found.index), start: found.start };
}

/**
 * Several changes of one kind may be found, for different types or teams. The one with the smallest increase is kept.
 */
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
  return change.kind === "moreNodes" ? change.count : 0;
}
