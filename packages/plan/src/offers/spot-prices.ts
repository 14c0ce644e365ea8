/** The cheapest spot price as observed so far: price classes and the rates at which one follows another. */
import type { SpotSeries } from "./spot-series.ts";

/** Price classes relative to on-demand: bounds of equal ratio. */
const CLASS_BOUNDS = [0.2, 0.27, 0.35, 0.45, 0.57, 0.72] as const;
/** Assumed before observations: mean hours available and unavailable, and the hours that this knowledge counts for. */
const PRIOR_UP_HOURS = 10;
const PRIOR_DOWN_HOURS = 3;
const PRIOR_WEIGHT = 3;
const PRIOR_PRICE_RATIO = 0.33;

export interface PriceChain {
  /** Mean price of each class in USD per hour; `undefined` for "no zone is available". */
  readonly prices: readonly (number | undefined)[];
  readonly onDemand: number;
  classOf(price: number | undefined): number;
  /** Probabilities of the class after `hours`, a row for each class. */
  transition(hours: number): readonly Float64Array[];
}

export class PriceHistory {
  readonly #series: SpotSeries;
  readonly #classes = CLASS_BOUNDS.length + 2;
  /** Last class is "unavailable". */
  readonly #rates: Float64Array[];
  readonly #hoursIn: Float64Array;
  #seen = 0;
  #zoneUpHours = 0;
  #zoneInterruptions = 0;

  constructor(series: SpotSeries) {
    this.#series = series;
    this.#rates = Array.from({ length: this.#classes }, () => new Float64Array(this.#classes));
    this.#hoursIn = new Float64Array(this.#classes);
  }

  /** Adds the steps before `step`, and the change into it. */
  observeUntil(step: number): void {
    const { startHours, spot } = this.#series;
    for (; this.#seen < step; this.#seen += 1) {
      const at = this.#seen;
      const hours = startHours[at + 1]! - startHours[at]!;
      const from = this.#classAt(at);
      const to = this.#classAt(at + 1);
      this.#hoursIn[from] = this.#hoursIn[from]! + hours;
      if (to !== from) this.#rates[from]![to] = this.#rates[from]![to]! + 1;
      for (const prices of spot) {
        if (!Number.isFinite(prices[at]!)) continue;
        this.#zoneUpHours += hours;
        if (!Number.isFinite(prices[at + 1]!)) this.#zoneInterruptions += 1;
      }
    }
  }

  interruptionsPerHour(priorRate: number, priorHours: number): number {
    return (this.#zoneInterruptions + priorRate * priorHours) / (this.#zoneUpHours + priorHours);
  }

  #cheapest(step: number): number | undefined {
    const price = Math.min(...this.#series.spot.map((prices) => prices[step]!));
    return Number.isFinite(price) ? price : undefined;
  }

  #classAt(step: number): number {
    return this.#classFor(this.#cheapest(step), this.#series.onDemand[step]!);
  }

  #classFor(price: number | undefined, onDemand: number): number {
    if (price === undefined) return this.#classes - 1;
    const ratio = price / onDemand;
    const index = CLASS_BOUNDS.findIndex((bound) => ratio < bound);
    return index === -1 ? CLASS_BOUNDS.length : index;
  }

  chain(step: number): PriceChain {
    const onDemand = this.#series.onDemand[step]!;
    const current = this.#cheapest(step);
    const used = this.#usedClasses(step);
    const position = new Map(used.map((kind, index) => [kind, index]));
    const rates = this.#learntRates(used);
    const prices = used.map((kind) => (kind === this.#classes - 1 ? undefined : this.#classPrice(kind, onDemand)));
    return {
      prices,
      onDemand,
      classOf: (price) =>
        position.get(this.#classFor(price, onDemand)) ?? position.get(this.#classFor(current, onDemand))!,
      transition: (hours) => exponential(rates, hours),
    };
  }

  /** Classes seen so far, the class of the prior while little has been seen, and "unavailable". */
  #usedClasses(step: number): readonly number[] {
    const used = new Set<number>([this.#classAt(step), this.#classes - 1]);
    for (let kind = 0; kind < this.#classes; kind += 1) if (this.#hoursIn[kind]! > 0) used.add(kind);
    if (used.size === 1) used.add(this.#classFor(PRIOR_PRICE_RATIO, 1));
    return [...used].toSorted((a, b) => a - b);
  }

  #classPrice(kind: number, onDemand: number): number {
    const low = kind === 0 ? 0.14 : CLASS_BOUNDS[kind - 1]!;
    const high = kind === CLASS_BOUNDS.length ? 0.95 : CLASS_BOUNDS[kind]!;
    return Math.sqrt(low * high) * onDemand;
  }

  #learntRates(used: readonly number[]): readonly Float64Array[] {
    const none = used.length - 1;
    const available = Math.max(1, used.length - 1);
    return used.map((from, row) => {
      const isNone = row === none;
      const leave = 1 / (isNone ? PRIOR_DOWN_HOURS : PRIOR_UP_HOURS);
      const priorHours = PRIOR_WEIGHT / leave;
      const rates = new Float64Array(used.length);
      for (let column = 0; column < used.length; column += 1) {
        if (column === row) continue;
        const prior = isNone ? PRIOR_WEIGHT / available : column === none ? PRIOR_WEIGHT : 0.3 / available;
        rates[column] = (this.#rates[from]![used[column]!]! + prior) / (this.#hoursIn[from]! + priorHours);
      }
      return rates;
    });
  }
}

/** exp(rates x hours) of a generator given by its off-diagonal rates, by uniformisation with repeated squaring. */
function exponential(rates: readonly Float64Array[], hours: number): readonly Float64Array[] {
  const size = rates.length;
  const leave = rates.map((row) => row.reduce((sum, rate) => sum + rate, 0));
  let halvings = 0;
  while (Math.max(...leave) * hours > 0.1 * 2 ** halvings && halvings < 20) halvings += 1;
  const part = hours / 2 ** halvings;
  let matrix: Float64Array[] = rates.map((row, index) =>
    Float64Array.from({ length: size }, (_, column) =>
      column === index ? 1 - leave[index]! * part : row[column]! * part,
    ),
  );
  for (let count = 0; count < halvings; count += 1) matrix = square(matrix);
  return matrix;
}

function square(matrix: readonly Float64Array[]): Float64Array[] {
  return matrix.map((row) =>
    Float64Array.from({ length: row.length }, (_, column) => {
      let sum = 0;
      for (let inner = 0; inner < row.length; inner += 1) sum += row[inner]! * matrix[inner]![column]!;
      return sum;
    }),
  );
}
