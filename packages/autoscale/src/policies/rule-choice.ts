/**
 * Chooses among simple scaling rules the cheapest one that would have kept the share of late requests on the traffic so
 * far (`shadow-endpoints.ts`), for one assumed amount of work of a request. The rules: those of `rule-features.ts`, and constant
 * numbers.
 */
import { HeldNumbers } from "./held-numbers.ts";
import { BIN_S, type RuleFeatures } from "./rule-features.ts";
import { REGRET_MS } from "./settling.ts";
import { ShadowEndpoints } from "./shadow-endpoints.ts";

const CONSTANTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 64, 96, 128] as const;
const BLOCK_BINS = 60;
const TURN_BINS = REGRET_MS / 1000 / BIN_S;
/** Less than this part of a replica starts no further one. */
const SLACK = 0.02;
/** A rule is left for one that is cheaper by this share. */
const CHEAPER = 0.03;

export interface RuleVerdict {
  readonly replicas: number;
  readonly rule: string;
  readonly isForecast: boolean;
  readonly lateShare: number;
  /** Number of rules that were compared. */
  readonly rules: number;
}

export class RuleChoice {
  readonly #factor: number;
  readonly #otherFactor: number;
  readonly #names: readonly string[];
  readonly #shadows: ShadowEndpoints;
  readonly #wanted: Float64Array;
  readonly #held: HeldNumbers;
  #bins = 0;
  #chosen = 0;
  #deviations = 1;

  /** `toleranceS`: time in s that a request may wait. `factor`: work of the traffic in times of the measured work; `otherFactor`: the same for rules
   * from outside. */
  constructor(toleranceS: number, factor: number, { names }: RuleFeatures, otherFactor: number) {
    this.#factor = factor;
    this.#otherFactor = otherFactor;
    this.#names = [...names, ...CONSTANTS.map((count) => `at least ${count}`)];
    this.#wanted = new Float64Array(this.#names.length);
    this.#held = new HeldNumbers(this.#names.length);
    this.#shadows = new ShadowEndpoints(
      this.#names.map(() => factor),
      toleranceS,
    );
  }

  serve(workS: number, arrivals: number, seconds: number): void {
    this.#shadows.serve(workS, arrivals, seconds);
  }

  closeBin({ loads, floor, otherCount }: RuleFeatures, ahead: number): void {
    this.#bins += 1;
    const least = Math.max(1, floor * this.#factor);
    for (const [rule, load] of loads.entries()) {
      const factor = rule < otherCount ? this.#otherFactor : this.#factor;
      this.#wanted[rule] = Math.ceil(Math.max(least, load * factor) - SLACK);
    }
    for (const [index, count] of CONSTANTS.entries())
      this.#wanted[loads.length + index] = Math.ceil(Math.max(least, count) - SLACK);
    this.#held.closeBin(this.#wanted, ahead, TURN_BINS);
    this.#shadows.want(this.#held.numbers, ahead, BIN_S);
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
      rules: this.#names.length,
    };
  }
}
