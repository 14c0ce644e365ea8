/**
 * The loads that simple scaling rules keep replicas for, before the work of a request is known: the highest load of a span
 * times a factor, a quantile of the loads of a span, and forecasts from outside. They scale with the work of a request, so
 * they are computed once for all amounts of work that are tried.
 */
import { SlidingMax } from "./sliding-max.ts";
import { SortedWindow } from "./sorted-window.ts";

export const BIN_S = 5;
/** Spans of the highest load in bins: a minute to a day. */
const HOLDS_BINS = [12, 24, 60, 180, 720, 2880, 17_280] as const;
const FACTORS = [0.4, 0.55, 0.7, 0.85, 1, 1.15, 1.35, 1.6, 2] as const;
const SPREADS_BINS = [360, 2880] as const;
const QUANTILES = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995] as const;
/** Bins of the mean that no rule goes below, and the factor on it: a rise that lasts is no burst. */
const FLOOR_BINS = 36;
const FLOOR_FACTOR = 1.05;

const percent = (share: number): string => `${Number((100 * share).toFixed(1))}%`;
const span = (bins: number): string => {
  const minutes = (bins * BIN_S) / 60;
  return minutes < 60 ? `${minutes} min` : `${minutes / 60} h`;
};

const OWN_NAMES: readonly string[] = [
  ...HOLDS_BINS.flatMap((bins) => FACTORS.map((factor) => `${factor} times the highest load of ${span(bins)}`)),
  ...SPREADS_BINS.flatMap((bins) =>
    QUANTILES.map((share) => `the load of ${span(bins)} that ${percent(share)} is below`),
  ),
];

/** The traffic of a bin: the highest load in it (`load-meter.ts`), and its mean. */
export interface BinTraffic {
  readonly load: number;
  readonly mean: number;
}

export class RuleFeatures {
  readonly names: readonly string[];
  /** Number of rules from outside. */
  readonly otherCount: number;
  /** By rule, the load that it keeps replicas for. */
  readonly loads: Float64Array;
  readonly #holds = HOLDS_BINS.map((bins) => new SlidingMax(bins));
  readonly #spreads = SPREADS_BINS.map((bins) => new SortedWindow(bins));
  #level = 0;
  #bins = 0;

  /** `others`: names of the rules from outside, which come first. */
  constructor(others: readonly string[]) {
    this.otherCount = others.length;
    this.names = [...others, ...OWN_NAMES];
    this.loads = new Float64Array(this.names.length);
  }

  /** The load below which no rule goes. */
  get floor(): number {
    return FLOOR_FACTOR * this.#level;
  }

  /** Ends a bin. `others`: loads of the rules from outside. */
  closeBin({ load, mean }: BinTraffic, others: readonly number[]): void {
    this.#bins += 1;
    this.#level += (mean - this.#level) / Math.min(FLOOR_BINS, this.#bins);
    let at = 0;
    const next = (value: number): void => {
      this.loads[at] = value;
      at += 1;
    };
    for (const other of others) next(other);
    for (const hold of this.#holds) {
      const most = hold.add(load);
      for (const factor of FACTORS) next(factor * most);
    }
    for (const spread of this.#spreads) {
      spread.add(load);
      for (const share of QUANTILES) next(spread.quantile(share));
    }
  }
}
