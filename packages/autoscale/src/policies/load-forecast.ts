/**
 * Forecasts of a load in bins, each with the past differences from what came, so that its capacity for a wanted
 * coverage can be read off: the last values over three spans, and the same time one period ago. The one that would have
 * needed the least capacity for the coverage counts, so a pattern is used only where it helps.
 */
import { periodOf } from "./season-search.ts";
import { SortedWindow } from "./sorted-window.ts";

const SPANS_BINS = [2, 12, 60] as const;
/** Number of past differences of a forecast; of the loads themselves for the forecasts that only look at their spread. */
const DIFFERENCES_MAX = 1500;
const SPREADS_BINS = [120, 720, 2880] as const;
/** Number of differences before a forecast is trusted. */
const DIFFERENCES_MIN = 24;
const SEASON_DIFFERENCES_MIN = 60;
/** A covered load is at most this factor above the highest of the recent past. */
const BEYOND_HIGHEST = 1.25;
const HISTORY_MAX = 300_000;
/** Number of bins between two searches of the period. */
const SEARCH_BINS = 60;
/** Weight of one bin in the running mean of a forecast's capacity. */
const SCORE_WEIGHT = 1 / 100;
/** Added to a load before its root, which is the scale of its variation: that of independent requests. */
const SCALE_FLOOR = 0.05;

export interface Coverage {
  /** Load that is not exceeded with the wanted probability. */
  readonly load: number;
  readonly method: string;
  /** The load follows a pattern, so it is known when it falls. */
  readonly isSeason: boolean;
}

interface Method {
  readonly name: string;
  /** True: the load itself, whatever it is now. */
  readonly isSpread: boolean;
  readonly differences: SortedWindow;
  /** Forecasts that are not compared yet, and the loads that they cover, by the bin that they are for. */
  readonly open: Map<number, { readonly forecast: number; readonly covered: number }>;
  /** Running mean of the pinball loss of the covered load. */
  score: number;
}

function methodOf(name: string, differencesMax: number): Method {
  return { name, isSpread: false, differences: new SortedWindow(differencesMax), open: new Map(), score: 0 };
}

export class LoadForecast {
  readonly #values: number[] = [];
  readonly #levels: number[] = SPANS_BINS.map(() => 0);
  readonly #methods: Method[] = [
    ...SPANS_BINS.map((span) => methodOf(`level of ${span} bins`, DIFFERENCES_MAX)),
    methodOf("season", DIFFERENCES_MAX),
    ...SPREADS_BINS.map((span) => ({ ...methodOf(`spread of ${span} bins`, span), isSpread: true })),
  ];
  #period = 0;
  #dropped = 0;
  #highestAt = { bin: -1, load: 0 };

  /** Number of the next bin. */
  get #bin(): number {
    return this.#dropped + this.#values.length;
  }

  get period(): number {
    return this.#period;
  }

  /** Adds the load of a bin. `ahead`: number of bins until a decision takes effect. */
  add(load: number, ahead: number, coverage: number): void {
    const bin = this.#bin;
    for (const method of this.#methods) {
      const opened = method.open.get(bin);
      if (opened === undefined) continue;
      const { forecast, covered } = opened;
      method.open.delete(bin);
      const loss = load > covered ? coverage * (load - covered) : (1 - coverage) * (covered - load);
      if (method.differences.count >= DIFFERENCES_MIN) method.score += SCORE_WEIGHT * (loss - method.score);
      method.differences.add(method.isSpread ? load : (load - forecast) / Math.sqrt(forecast + SCALE_FLOOR));
    }
    this.#values.push(load);
    if (this.#values.length > HISTORY_MAX) {
      this.#values.splice(0, HISTORY_MAX / 4);
      this.#dropped += HISTORY_MAX / 4;
    }
    for (const [index, span] of SPANS_BINS.entries()) {
      const level = this.#levels[index] ?? 0;
      this.#levels[index] = level + (load - level) / Math.min(span, this.#values.length);
    }
    if (bin % SEARCH_BINS === SEARCH_BINS - 1) this.#search(ahead);
    for (const [index, method] of this.#methods.entries()) {
      const forecast = this.#forecast(index, ahead);
      if (forecast === undefined) continue;
      method.open.set(bin + ahead, { forecast, covered: this.#covered(method, forecast, coverage) });
    }
  }

  /** Load in the next `ahead` bins that is not exceeded with this probability. */
  covering(ahead: number, coverage: number): Coverage {
    let best: Coverage | undefined;
    let leastScore = Infinity;
    for (const [index, method] of this.#methods.entries()) {
      const forecast = this.#forecast(index, ahead);
      const least = index === SPANS_BINS.length ? SEASON_DIFFERENCES_MIN : DIFFERENCES_MIN;
      if (forecast === undefined || method.differences.count < least || method.score >= leastScore) continue;
      leastScore = method.score;
      const isSeason = index === SPANS_BINS.length;
      best = {
        load: this.#covered(method, this.#until(index, ahead, forecast), coverage),
        method: method.name,
        isSeason,
      };
    }
    if (best !== undefined) return { ...best, load: Math.min(best.load, BEYOND_HIGHEST * this.#highest()) };
    return { load: this.#highest(), method: "the first minutes", isSeason: false };
  }

  /** The highest forecast from now to `ahead` bins: what is given up now is not back before. */
  #until(index: number, ahead: number, forecast: number): number {
    if (index !== SPANS_BINS.length) return forecast;
    let most = forecast;
    for (let bins = 0; bins < ahead; bins += 1) most = Math.max(most, this.#forecast(index, bins) ?? 0);
    return most;
  }

  /** The highest load of the recent past, searched once for each bin. */
  #highest(): number {
    if (this.#highestAt.bin === this.#bin) return this.#highestAt.load;
    let most = 0;
    for (let at = Math.max(0, this.#values.length - DIFFERENCES_MAX); at < this.#values.length; at += 1)
      most = Math.max(most, this.#values[at] ?? 0);
    this.#highestAt = { bin: this.#bin, load: most };
    return most;
  }

  #covered(method: Method, forecast: number, coverage: number): number {
    if (method.isSpread) return method.differences.quantile(coverage);
    return Math.max(0, forecast + method.differences.quantile(coverage) * Math.sqrt(forecast + SCALE_FLOOR));
  }

  #forecast(index: number, ahead: number): number | undefined {
    if (index < SPANS_BINS.length) return this.#levels[index];
    if (this.#methods[index]?.isSpread === true) return 0;
    if (this.#period === 0) return undefined;
    // The level now, and how the load went on from here one and two periods ago.
    let sum = 0;
    let count = 0;
    for (let periods = 1; periods <= 2; periods += 1) {
      const then = this.#values.length - 1 + ahead - periods * this.#period;
      if (then < 2 || then >= this.#values.length - 1) continue;
      sum += this.#around(then);
      count += 1;
    }
    return count === 0 ? undefined : sum / count;
  }

  #around(index: number): number {
    let sum = 0;
    let count = 0;
    for (let at = index - 1; at <= index + 1; at += 1) {
      const value = this.#values[at];
      if (value === undefined) continue;
      sum += value;
      count += 1;
    }
    return count === 0 ? 0 : sum / count;
  }

  #search(ahead: number): void {
    const found = periodOf(this.#values, ahead + 2);
    if (Math.abs(found - this.#period) <= Math.max(1, 0.02 * this.#period)) return;
    this.#period = found;
    this.#methods[SPANS_BINS.length] = methodOf("season", DIFFERENCES_MAX);
  }
}
