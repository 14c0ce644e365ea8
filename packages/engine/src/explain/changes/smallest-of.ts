/**
 * Of the values of one kind of change the smallest that starts the work. They are tried from the smallest change up; where there are
 * many, ever larger steps find one that works and halving finds the smallest before it. What was missing makes a step longer and rules
 * nothing out: who may be asked to leave changes with every end.
 */
import type { Change, StartingChange } from "./change.ts";
import type { Outcome } from "./counterfactuals.ts";
import type { Values } from "./values.ts";

/** So many values of a kind are tried one by one: then nothing smaller works, whatever depends on what. */
const SIMULATED_ONE_BY_ONE = 8;
/** So many of what others who are ahead may have as well: more of it may let somebody go on who then is in the way. */
const SIMULATED_ONE_BY_ONE_OF_SHARED = 24;
/** So many are looked at one by one for hope, which costs less than to try them. */
const LOOKED_AT_ONE_BY_ONE = 32;
/** Beyond those that are tried one by one each step is at least so many times as long as the one before. */
const STEPS_GROW = 4;

/** How values of one kind are looked at: at little cost whether there is hope, and in a round whether it starts. */
export interface Looks<Of> {
  /** The first value that is not ruled out; their count: all are. */
  firstLowerBound(values: Values<Of>): number;
  /** Asked where one value says nothing of another. */
  couldStart(change: Of): boolean;
  tries(change: Of): Outcome;
  /** The first value beyond one that brings so many accelerators more; the next, where values are not told apart by them. */
  beyond(index: number, missing: number): number;
}

const NO_LOWER_BOUND: Outcome = { start: null, missing: 0 };

/** The first value that starts it. */
export function smallestOf<Of extends Change>(values: Values<Of>, looks: Looks<Of>): StartingChange | null {
  const { isMonotone } = values;
  const simulated = (index: number): TestedValue => {
    const change = values.at(index);
    const isHopeless = !isMonotone && !looks.couldStart(change);
    const { start, missing } = isHopeless ? NO_LOWER_BOUND : looks.tries(change);
    return { found: start === null ? null : { change, start }, missing };
  };
  const first = looks.firstLowerBound(values);
  const count = Math.min(values.count, first + values.scope);
  let failed = first - 1;
  let hoped = first;
  const oneByOne = values.alone === undefined ? SIMULATED_ONE_BY_ONE : SIMULATED_ONE_BY_ONE_OF_SHARED;
  let oneByOneTo = oneByOne;
  for (let step = 1; failed + 1 < count;) {
    const index = Math.min(count - 1, Math.max(failed + step, hoped));
    const { found, missing } = simulated(index);
    if (found !== null) return between({ failed, index, found }, (each) => simulated(each).found);
    failed = index;
    if (isMonotone && index === first && index < count - 1) {
      const near = Math.min(count, values.alone ?? count) - 1;
      const isNear = near > index && simulated(near).found !== null;
      if (!isNear && (near === count - 1 || simulated(count - 1).found === null)) return null;
      if (!isNear && near > index) {
        failed = near;
        oneByOneTo = near + 1 + oneByOne;
      }
    }
    if (failed + 1 >= oneByOneTo) {
      step *= STEPS_GROW;
      hoped = looks.beyond(index, missing);
    }
  }
  return null;
}

interface TestedValue {
  readonly found: StartingChange | null;
  readonly missing: number;
}

interface Bracket {
  readonly failed: number;
  readonly index: number;
  readonly found: StartingChange;
}

/** Halves what lies between a value that does not start it and one that does. */
function between(bracket: Bracket, simulated: (index: number) => StartingChange | null): StartingChange {
  let { failed, index, found } = bracket;
  while (index - failed > 1) {
    const middle = (failed + index) >> 1;
    const other = simulated(middle);
    if (other === null) failed = middle;
    else {
      index = middle;
      found = other;
    }
  }
  return found;
}

/**
 * The first of ever larger changes with which there is hope. Beyond those that are looked at one by one there is with a smaller one
 * only if there is with the largest; asking for less may also lessen what a team may claim, so that of those nothing is concluded.
 */
export function firstLowerBound<Of>(values: Values<Of>, couldStart: (change: Of) => boolean): number {
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
