/**
 * Typical run time of work: the median of the distribution from which start estimates draw, given the elapsed time. A
 * forecast with typical run times lies in the middle of an estimate's scenarios, and gives the same result each time.
 */
import {
  DRAWS_MAX,
  FIRST_OCTAVE_MS,
  OCTAVES,
  visitNeighbours,
  type DurationModel,
  type DurationSource,
  type Sweep,
  type UnseenWork,
} from "../estimate/durations.ts";

/** Remaining weight of neighbours below which further neighbours change no median. */
const WEIGHT_LEFT_MIN = 0.01;
/**
 * Number of members that represent a neighbouring sweep, evenly spaced from its shortest to its longest run. The median
 * over many neighbours needs no more.
 */
const MEMBERS_OF_NEIGHBOUR = 5;
/**
 * Minimum probability that a draw exceeds the elapsed time. Below it most scenarios find no such draw, and the work
 * counts as having outlasted all similar work.
 */
const ACCEPTED_MIN = 0.69 / DRAWS_MAX;

/**
 * Possible durations, shortest first. `weights`: for each duration, the total weight of this and all longer durations.
 */
interface Mixture {
  readonly values: Float64Array;
  readonly weightFrom: Float64Array;
  /** True: no similar work has ended, except in the sweep of the work itself. */
  readonly isAlone: boolean;
}

export class TypicalDurations implements DurationSource {
  readonly #model: DurationModel;
  readonly #nearness: number;
  readonly #mixtures = new Map<Sweep, Mixture>();
  readonly #unseen = new Map<string, Sweep>();
  readonly #sorted = new Map<Sweep, readonly number[]>();

  constructor(model: DurationModel) {
    this.#model = model;
    const { nearness } = model.rules;
    this.#nearness = nearness[nearness.length >> 1]!;
  }

  durationMs(record: number, elapsedMs: number): number {
    const model = this.#model;
    return this.#typicalMs(model.sweep(model.sweepOf(record)), model.walltimeMs(record), elapsedMs);
  }

  durationOfUnseenMs(work: UnseenWork, elapsedMs: number): number {
    const kind = `${work.accelerators} ${work.family}`;
    let sweep = this.#unseen.get(kind);
    if (sweep === undefined) this.#unseen.set(kind, (sweep = this.#model.sweepAfterAll(work)));
    return this.#typicalMs(sweep, work.walltimeMs ?? Number.MAX_SAFE_INTEGER, elapsedMs);
  }

  #typicalMs(sweep: Sweep, walltimeMs: number, elapsedMs: number): number {
    const medianMs = this.#medianMs(this.#mixture(sweep), elapsedMs) ?? outlastingMs(elapsedMs);
    const typicalMs = Math.min(medianMs, walltimeMs);
    return Math.max(1, Math.floor(typicalMs), elapsedMs + 1);
  }

  /** The median of the durations longer than the elapsed time; `null`: too few durations are longer. */
  #medianMs({ values, weightFrom, isAlone }: Mixture, elapsedMs: number): number | null {
    const { spread, foreignWeight } = this.#model.rules;
    // Draws vary by up to the random spread, so a duration slightly below the elapsed time can still be valid.
    const first = firstWhere(values.length, (index) => values[index]! * (1 + spread) > elapsedMs);
    const weight = weightFrom[first] ?? 0;
    if (weight === 0 && isAlone) return unknownMs(elapsedMs);
    if (weight < ACCEPTED_MIN * foreignWeight) return null;
    const middle = firstWhere(values.length, (index) => (weightFrom[index + 1] ?? 0) < weight / 2);
    const found = values[middle]!;
    return (Math.max(elapsedMs, found * (1 - spread)) + found * (1 + spread)) / 2;
  }

  #mixture(sweep: Sweep): Mixture {
    const known = this.#mixtures.get(sweep);
    if (known !== undefined) return known;
    const foreign = this.#foreign(sweep);
    const weighted = [...sweep.ended.map((value) => ({ value, weight: 1 })), ...foreign];
    weighted.sort((left, right) => left.value - right.value);
    const weightFrom = new Float64Array(weighted.length);
    let sum = 0;
    for (let index = weighted.length - 1; index >= 0; index--) weightFrom[index] = sum += weighted[index]!.weight;
    const values = Float64Array.from(weighted, ({ value }) => value);
    const mixture = { values, weightFrom, isAlone: foreign.length === 0 };
    this.#mixtures.set(sweep, mixture);
    return mixture;
  }

  /**
   * Durations of neighbouring sweeps, each with the probability that a scenario stops at it. The probability of passing
   * all neighbours is spread evenly over them.
   */
  #foreign(sweep: Sweep): { value: number; weight: number }[] {
    const nearby: { readonly sweep: Sweep; readonly chance: number }[] = [];
    let left = 1;
    visitNeighbours(sweep, (candidate) => {
      const neighbour = this.#model.sweep(candidate);
      if (neighbour.ended.length === 0) return false;
      nearby.push({ sweep: neighbour, chance: left * this.#nearness });
      left *= 1 - this.#nearness;
      return left < WEIGHT_LEFT_MIN;
    });
    const { foreignWeight } = this.#model.rules;
    return nearby.flatMap(({ sweep: neighbour, chance }) => {
      const members = this.#members(neighbour);
      const weight = (foreignWeight * (chance + left / nearby.length)) / members.length;
      return members.map((value) => ({ value, weight }));
    });
  }

  #members(sweep: Sweep): readonly number[] {
    const known = this.#sorted.get(sweep);
    if (known !== undefined) return known;
    const sorted = sweep.ended.toSorted((left, right) => left - right);
    const count = Math.min(sorted.length, MEMBERS_OF_NEIGHBOUR);
    const members = Array.from(
      { length: count },
      (_, index) => sorted[Math.floor(((index + 0.5) * sorted.length) / count)]!,
    );
    this.#sorted.set(sweep, members);
    return members;
  }
}

/**
 * Typical run time when no work has ended: the middle of the remaining octaves; `null`: the work has run longer than
 * all of them.
 */
function unknownMs(elapsedMs: number): number | null {
  let passed = 0;
  for (let low = FIRST_OCTAVE_MS; elapsedMs > low && passed < OCTAVES; low *= 2)
    passed += Math.min(1, elapsedMs / low - 1);
  if (OCTAVES - passed < ACCEPTED_MIN * OCTAVES) return null;
  const middle = (passed + OCTAVES) / 2;
  const octave = Math.floor(middle);
  let low = FIRST_OCTAVE_MS;
  for (let step = 0; step < octave; step++) low *= 2;
  return low * (1 + middle - octave);
}

const outlastingMs = (elapsedMs: number): number => 2 * Math.max(elapsedMs, 1000) + 1;

/** The first index for which the monotonic predicate holds; `length`: none does. */
function firstWhere(length: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
