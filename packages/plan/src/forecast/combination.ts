/**
 * The combination of methods: a weighted median, whose weights at each distance follow from the errors of the methods at earlier
 * origins. A mean would let one method that follows a burst lift the others.
 */
import type { Backtest } from "./backtest.ts";
import { methods } from "./methods.ts";

/** Weights fall with this power of the error: the eighth. */
function sharpened(ratio: number): number {
  const square = ratio * ratio;
  return square * square * square * square;
}

/** A stretch of origins that is left out; `from` equal to `to` leaves out none. */
export interface LeftOut {
  readonly from: number;
  readonly to: number;
}

/**
 * Errors of all methods at all origins as sums over origins and steps, so that the mean error over a range of steps without a stretch of
 * origins costs a few additions.
 */
export class MethodErrors {
  readonly #width: number;
  readonly #end: number;
  /** For each method, rows of sums over the first origins and the first steps. */
  readonly #sums: readonly Float64Array[];
  readonly #counts: Float64Array;
  /** Range of steps over which errors are averaged for a step: those within a quarter of its distance. */
  readonly #first: Int32Array;
  readonly #after: Int32Array;

  constructor(tests: readonly Backtest[], horizon: number) {
    this.#width = horizon + 1;
    this.#end = tests.length * this.#width;
    this.#first = Int32Array.from({ length: horizon }, (_, step) => Math.max(0, Math.floor(step - 1 - step / 4)));
    this.#after = Int32Array.from({ length: horizon }, (_, step) => Math.min(horizon, Math.ceil(step + 2 + step / 4)));
    const width = this.#width;
    this.#sums = methods.map((_, method) => {
      const table = new Float64Array((tests.length + 1) * width);
      for (let row = 0; row < tests.length; row += 1)
        addRow(table, row * width, tests[row]!.errors[method]!, tests[row]!.weight);
      return table;
    });
    this.#counts = new Float64Array((tests.length + 1) * width);
    const ones = new Float64Array(horizon).fill(1);
    for (let row = 0; row < tests.length; row += 1)
      addRow(this.#counts, row * width, ones.subarray(0, tests[row]!.actual.length), 1);

    /** Writes the row after the one that begins at `from`: sums over rows and steps. Steps without a value add nothing. */
    function addRow(table: Float64Array, from: number, values: Float64Array, weight: number): void {
      let sum = 0;
      for (let step = 0; step < horizon; step += 1) {
        if (step < values.length) sum += weight * values[step]!;
        table[from + width + step + 1] = table[from + step + 1]! + sum;
      }
    }
  }

  /** Writes the weight of each method at a step; the weights have the sum 1. False if no error is known there. */
  weightsAt(step: number, { from, to }: LeftOut, weights: Float64Array): boolean {
    const [first, after, end] = [this.#first[step]!, this.#after[step]!, this.#end];
    const [low, high] = [from * this.#width, to * this.#width];
    const over = (table: Float64Array): number =>
      table[end + after]! -
      table[end + first]! -
      (table[high + after]! - table[high + first]!) +
      (table[low + after]! - table[low + first]!);
    const count = over(this.#counts);
    if (count < 0.5) return false;
    let smallest = Number.POSITIVE_INFINITY;
    for (let method = 0; method < weights.length; method += 1) {
      const error = Math.max(1e-12, over(this.#sums[method]!) / count);
      weights[method] = error;
      if (error < smallest) smallest = error;
    }
    let sum = 0;
    for (let method = 0; method < weights.length; method += 1) {
      const weight = sharpened(smallest / weights[method]!);
      weights[method] = weight;
      sum += weight;
    }
    for (let method = 0; method < weights.length; method += 1) weights[method]! /= sum;
    return true;
  }
}

export interface Combination {
  readonly mean: Float64Array;
  /** Mean weight of each method over the steps. */
  readonly weights: Float64Array;
}

/** Weighted median of the methods at each step. Steps beyond the known errors have the weights of the last step before them. */
export function combined(
  predicted: readonly Float64Array[],
  errors: MethodErrors,
  { steps, without }: { readonly steps: number; readonly without: LeftOut },
): Combination {
  const mean = new Float64Array(steps);
  const count = predicted.length;
  const weights = new Float64Array(count).fill(1 / count);
  const weightSums = new Float64Array(count);
  const values = new Float64Array(count);
  const shares = new Float64Array(count);
  for (let step = 0; step < steps; step += 1) {
    errors.weightsAt(step, without, weights);
    // Insertion sort: there are about ten values.
    for (let method = 0; method < count; method += 1) {
      const value = predicted[method]![step]!;
      let place = method;
      for (; place > 0 && values[place - 1]! > value; place -= 1) {
        values[place] = values[place - 1]!;
        shares[place] = shares[place - 1]!;
      }
      values[place] = value;
      shares[place] = weights[method]!;
      weightSums[method]! += weights[method]! / steps;
    }
    let middle = 0;
    for (let share = shares[0]!; share < 0.5 - 1e-9 && middle < count - 1; share += shares[middle]!) middle += 1;
    mean[step] = values[middle]!;
  }
  return { mean, weights: weightSums };
}
