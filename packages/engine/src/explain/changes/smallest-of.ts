/**
 * Finds the smallest value of one kind of change that starts the workload. Values are tried in ascending order. If
 * there are many, steps of growing size find a value that works, and bisection finds the smallest one below it. The
 * number of missing accelerators only sets the size of a step: it is not a lower bound, because each end may make other
 * work eligible as a victim.
 */
import type { Change, StartingChange } from "./change.ts";
import type { Outcome } from "./counterfactuals.ts";
import type { Values } from "./values.ts";

/** Number of values tried one by one; for them, a larger value need not be better than a smaller one. */
const SIMULATED_ONE_BY_ONE = 8;
/**
 * The same for amounts that requests ahead in the queue can use too: a larger amount may let one of those start first,
 * so more values are tried one by one.
 */
const SIMULATED_ONE_BY_ONE_OF_SHARED = 24;
/** Number of values that the lower bound checks one by one; a check is cheaper than a run. */
const LOOKED_AT_ONE_BY_ONE = 32;
/** Factor by which steps grow after the values tried one by one. */
const STEPS_GROW = 4;

/**
 * Tests of one kind of change: a cheap lower bound that rules values out, and a run that shows whether the workload
 * starts.
 */
export interface Looks<Of> {
  /** Index of the first value that the lower bound does not rule out; the number of values if it rules out all. */
  firstLowerBound(values: Values<Of>): number;
  /** Lower bound of a single value, for kinds whose values are independent of one another. */
  couldStart(change: Of): boolean;
  tries(change: Of): Outcome;
  /**
   * Index of the first larger value that adds `missing` accelerators; the next index if values are not numbers of
   * accelerators.
   */
  beyond(index: number, missing: number): number;
}

const NO_LOWER_BOUND: Outcome = { start: null, missing: 0 };

/** The smallest value that starts the workload; `null`: none does. */
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

/** Bisects between the value `failed`, which does not start the workload, and the value `index`, which does. */
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
 * Index of the first value that passes the lower bound. The first `LOOKED_AT_ONE_BY_ONE` values are checked one by one:
 * a smaller request may also lower the team's entitlement, so a larger change can fail where a smaller one passes. For
 * the values after them the check is assumed to be monotone.
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
