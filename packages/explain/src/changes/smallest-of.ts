/**
 * Finds the smallest value of one kind of change that starts the workload. Values are tried in ascending order. If
 * there are many, steps of growing size find a value that works, and bisection finds the smallest one below it. The
 * number of missing accelerators only sets the size of a step: it is not a lower bound, because each end may make other
 * work eligible as a victim.
 */
import { bisect } from "@headroom/model";
import type { WouldStart } from "./change.ts";
import type { Outcome } from "./counterfactuals.ts";
import type { ValueRange, Values } from "./values.ts";

/** Number of values that are tried one by one. Among them, a larger value need not be better than a smaller one. */
const SIMULATED_ONE_BY_ONE = 8;
/**
 * The same number for amounts that requests ahead in the queue can use too. A larger amount may let such a request
 * start first, so more values are tried one by one.
 */
const SIMULATED_ONE_BY_ONE_OF_SHARED = 24;
/** Number of values that the lower bound checks one by one; a check is cheaper than a run. */
const LOOKED_AT_ONE_BY_ONE = 32;
/** Factor by which steps grow after the values tried one by one. */
const STEPS_GROW = 4;

export interface SmallestValue {
  readonly index: number;
  readonly start: WouldStart;
}

/**
 * The smallest value that starts the workload, or `null` if none does. `first` is the index of the first value that the
 * lower bound does not rule out. `tries` runs the value at an index. `beyond` returns the index of the first larger
 * value that adds `missing` accelerators; if values are not numbers of accelerators, it returns the next index.
 */
export function smallestOf(
  { count: all, isMonotone, alone, scope }: ValueRange,
  first: number,
  tries: (index: number) => Outcome,
  beyond: (index: number, missing: number) => number = (index) => index + 1,
): SmallestValue | null {
  const count = Math.min(all, first + scope);
  let failed = first - 1;
  let hoped = first;
  const oneByOne = alone === undefined ? SIMULATED_ONE_BY_ONE : SIMULATED_ONE_BY_ONE_OF_SHARED;
  let oneByOneTo = oneByOne;
  for (let step = 1; failed + 1 < count;) {
    const index = Math.min(count - 1, Math.max(failed + step, hoped));
    const { start, missing } = tries(index);
    if (start !== null) return between(failed, { index, start }, tries);
    failed = index;
    if (isMonotone && index === first && index < count - 1) {
      const near = Math.min(count, alone ?? count) - 1;
      const isNear = near > index && tries(near).start !== null;
      if (!isNear && (near === count - 1 || tries(count - 1).start === null)) return null;
      if (!isNear && near > index) {
        failed = near;
        oneByOneTo = near + 1 + oneByOne;
      }
    }
    if (failed + 1 >= oneByOneTo) {
      step *= STEPS_GROW;
      hoped = beyond(index, missing);
    }
  }
  return null;
}

/** Bisects between the value `failed`, which does not start the workload, and a value that does. */
function between(failed: number, found: SmallestValue, tries: (index: number) => Outcome): SmallestValue {
  let smallest = found;
  bisect(failed, found.index, (index) => {
    const { start } = tries(index);
    if (start !== null) smallest = { index, start };
    return start !== null;
  });
  return smallest;
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
  return bisect(LOOKED_AT_ONE_BY_ONE - 1, count - 1, (index) => couldStart(values.at(index)));
}
