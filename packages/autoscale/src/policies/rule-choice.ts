/**
 * Chooses among simple scaling rules the cheapest one that would have kept the share of late requests on the traffic so
 * far (`shadow-endpoints.ts`). The rules: the highest load of a span times a factor, a quantile of the loads of a span, a
 * constant number, and a rule that is passed from outside.
 */
import { ShadowEndpoints } from "./shadow-endpoints.ts";
import { SlidingMax } from "./sliding-max.ts";
import { SortedWindow } from "./sorted-window.ts";

/** Spans of the highest load in bins of 5 s: a minute to a day. */
const HOLDS_BINS = [12, 24, 60, 180, 720, 2880, 17_280] as const;
const FACTORS = [0.4, 0.55, 0.7, 0.85, 1, 1.15, 1.35, 1.6, 2] as const;
const SPREADS_BINS = [360, 2880] as const;
const QUANTILES = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995] as const;
const CONSTANTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 64, 96, 128] as const;
/** Bins of the mean that no rule goes below, and the factor on it: a rise that lasts is no burst. */
const FLOOR_BINS = 36;
const FLOOR_FACTOR = 1.05;
const BLOCK_BINS = 60;
const BIN_S = 5;
/** A rule is left for one that is cheaper by this share. */
const CHEAPER = 0.03;

export interface RuleVerdict {
  readonly replicas: number;
  readonly rule: string;
  readonly isForecast: boolean;
  readonly lateShare: number;
}

export class RuleChoice {
  readonly #factor: number;
  readonly #names: readonly string[];
  readonly #shadows: ShadowEndpoints;
  readonly #holds = HOLDS_BINS.map((bins) => new SlidingMax(bins));
  readonly #spreads = SPREADS_BINS.map((bins) => new SortedWindow(bins));
  readonly #wanted: Float64Array;
  #level = 0;
  #bins = 0;
  #chosen = 0;
  #deviations = 1;

  /** `toleranceS`: time in s that a request may wait. */
  constructor(toleranceS: number, factor: number, others: readonly string[]) {
    this.#factor = factor;
    this.#names = [
      ...others,
      ...HOLDS_BINS.flatMap((bins) => FACTORS.map((factor) => `${factor} x the highest load of ${bins * BIN_S} s`)),
      ...SPREADS_BINS.flatMap((bins) => QUANTILES.map((share) => `${share} quantile of ${bins * BIN_S} s`)),
      ...CONSTANTS.map((count) => `at least ${count}`),
    ];
    this.#wanted = new Float64Array(this.#names.length);
    this.#shadows = new ShadowEndpoints(
      this.#names.map(() => factor),
      toleranceS,
    );
  }

  serve(workS: number, arrivals: number, seconds: number): void {
    this.#shadows.serve(workS, arrivals, seconds);
  }

  /** Ends a bin. `others`: replicas by the rules from outside. */
  closeBin(measured: { readonly load: number; readonly mean: number }, others: readonly number[], ahead: number): void {
    const load = measured.load * this.#factor;
    const meanLoad = measured.mean * this.#factor;
    this.#bins += 1;
    this.#level += (meanLoad - this.#level) / Math.min(FLOOR_BINS, this.#bins);
    const floor = Math.max(1, FLOOR_FACTOR * this.#level);
    let rule = 0;
    const want = (replicas: number): void => {
      this.#wanted[rule] = Math.ceil(Math.max(floor, replicas) - 0.02);
      rule += 1;
    };
    for (const other of others) want(other);
    for (const hold of this.#holds) {
      const most = hold.add(load);
      for (const factor of FACTORS) want(factor * most);
    }
    for (const spread of this.#spreads) {
      spread.add(load);
      for (const share of QUANTILES) want(spread.quantile(share));
    }
    for (const count of CONSTANTS) want(count);
    this.#shadows.want(this.#wanted, ahead, BIN_S);
    if (this.#bins % BLOCK_BINS === 0) this.#shadows.closeBlock(BLOCK_BINS * BIN_S);
  }

  get isReady(): boolean {
    return this.#bins >= 3 * BLOCK_BINS;
  }

  /** Chooses by what is allowed now. */
  choose(allowedShare: number): void {
    let best = -1;
    let leastLate = 0;
    for (let rule = 0; rule < this.#names.length; rule += 1) {
      const late = this.#shadows.lateShare(rule, this.#deviations);
      if (late < this.#shadows.lateShare(leastLate, this.#deviations)) leastLate = rule;
      if (late <= allowedShare && (best === -1 || this.#shadows.cost(rule) < this.#shadows.cost(best))) best = rule;
    }
    if (best === -1) best = leastLate;
    const isKept =
      this.#shadows.lateShare(this.#chosen, this.#deviations) <= allowedShare &&
      this.#shadows.cost(best) > (1 - CHEAPER) * this.#shadows.cost(this.#chosen);
    if (!isKept) this.#chosen = best;
  }

  get verdict(): RuleVerdict {
    return {
      replicas: this.#wanted[this.#chosen] ?? 1,
      isForecast: this.#chosen === 0,
      rule: this.#names[this.#chosen] ?? "",
      lateShare: this.#shadows.lateShare(this.#chosen, 0),
    };
  }

  /** The rules with their shares of late requests and costs, for reports. */
  get table(): readonly {
    readonly rule: string;
    readonly late: number;
    readonly bound: number;
    readonly cost: number;
  }[] {
    return this.#names.map((rule, at) => ({
      rule,
      late: this.#shadows.lateShare(at, 0),
      bound: this.#shadows.lateShare(at, this.#deviations),
      cost: this.#shadows.cost(at),
    }));
  }
}
