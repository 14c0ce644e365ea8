/**
 * Runs changes by others on one fork, one kind after another. A larger value adds inputs to those of a smaller one; a
 * smaller value undoes some. The fork is reset before the next kind.
 */
import { worldOf } from "../../engine/engine.ts";
import type { Input } from "../../contract/inputs.ts";
import type { Change, StartingChange } from "./change.ts";
import { admittedData, fewerHotSpares, laterWindows, resumedNodes } from "./fleet-changes.ts";
import { afterEnds, moreNodes } from "./other-changes.ts";
import type { OtherChange, OtherLine } from "./other-changes.ts";
import { smallestOf } from "./smallest-of.ts";
import { largerGuarantees, largerLimits } from "./team-amounts.ts";
import type { Outcome, Question, Stage } from "./counterfactuals.ts";

/** A kind of change, and the index of its first value that the lower bound does not rule out. */
interface Hoped {
  readonly line: OtherLine;
  readonly first: number;
}

/**
 * The kinds of change to try, with lower bounds computed on an unchanged fork; empty: the workload is not submitted or
 * not eligible there.
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
  const hoped = lines.map((line) => ({ line, first: line.firstLowerBound(lowerBound) }));
  lowerBound.end();
  // Fleet changes are restored well enough for lower bounds but not for runs, so the fork is reused only if there are
  // none.
  if (target !== null && fleet.length === 0) counterfactuals.giveBack(stage);
  return hoped;
}

export const findOther = (question: Question, lines: readonly Hoped[]): readonly StartingChange[] =>
  onePerKind(lines.flatMap((hoped) => smallestOnLine(question, hoped) ?? []));

function smallestOnLine(question: Question, { line, first }: Hoped): StartingChange | null {
  const counterfactual = new OtherCounterfactuals(question, line);
  const found = smallestOf(line.values, {
    firstLowerBound: () => first,
    couldStart: () => true,
    tries: (change) => counterfactual.tries(change),
    beyond: (index, missing) => line.beyond?.(index, missing) ?? index + 1,
  });
  counterfactual.end();
  return found;
}

/** Runs the values of one kind of change on a fork without other changes. */
class OtherCounterfactuals {
  readonly #question: Question;
  readonly #line: OtherLine;
  #stage: Stage | null = null;
  /** Values applied to the fork, in order. */
  readonly #reached: OtherChange[] = [];

  constructor(question: Question, line: OtherLine) {
    this.#question = question;
    this.#line = line;
  }

  tries(change: OtherChange): Outcome {
    const { counterfactuals, spec, target } = this.#question;
    let inputs = this.#further(change);
    if (this.#stage === null || inputs === null) {
      this.#stage = counterfactuals.stage(target);
      this.#reached.length = 0;
      inputs = this.#line.inputs(change, null) ?? [];
    }
    this.#reached.push(change);
    return target === null
      ? counterfactuals.submit(this.#stage, spec, inputs)
      : counterfactuals.run(this.#stage, inputs);
  }

  /**
   * The inputs that lead to `change` from the newest applied value that can be extended to it; values after that one
   * are undone. `null`: impossible.
   */
  #further(change: OtherChange): readonly Input[] | null {
    const stage = this.#stage;
    if (stage === null) return null;
    for (; !stage.isUsed && this.#reached.length > 0; this.#reached.pop()) {
      const inputs = this.#line.inputs(change, this.#reached.at(-1) ?? null);
      if (inputs !== null) return inputs;
      this.#question.counterfactuals.goBack(stage);
    }
    return null;
  }

  end(): void {
    const stage = this.#stage;
    if (stage === null || stage.isUsed || this.#question.target === null) return;
    this.#question.counterfactuals.giveBack(stage, this.#line.before);
  }
}

/** A kind with several series (types, teams) keeps the change with the smallest increase. */
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
