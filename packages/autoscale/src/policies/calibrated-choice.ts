/**
 * Corrects the work that traffic is measured to be by the misses of the real endpoint: shadows that have the real
 * replicas tell how many requests would be late if the work were more or less. The largest factor that does not
 * predict more late requests than there were counts, so an endpoint without a miss only proves what it has tried.
 */
import { RuleFeatures, type BinTraffic } from "./rule-features.ts";
import { RuleChoice, type RuleVerdict } from "./rule-choice.ts";
import { ShadowEndpoints } from "./shadow-endpoints.ts";

/** Factors on the measured work that are tried, in rising order, and the one that counts unless misses show another. */
export interface WorkFactors {
  readonly factors: readonly number[];
  readonly first: number;
  /** A model counts as it is for the rules from outside. */
  readonly isModelled: boolean;
  /**
   * Late requests that the first factor may predict, in times of the missed ones, before a smaller one counts. An overloaded endpoint reports
   * its misses late and in part, which must not look like less work.
   */
  readonly beyondBelow: number;
}

const BEYOND = 1.15;
const BEYOND_OVERLOADED = 1.5;

/** For work by a model of the accelerator, which is a little pessimistic: measured traffic was 0.75 to 0.9 of it. */
export const MODELLED_WORK: WorkFactors = {
  factors: [0.65, 0.75, 0.85, 0.9, 1.05, 1.2],
  first: 3,
  isModelled: true,
  beyondBelow: BEYOND_OVERLOADED,
};
/**
 * For work measured by the latencies of the endpoint's quickest requests, which waited for a step or two. The large factors are for
 * replicas that the number of their sequences limits, not the work of prompts.
 */
export const MEASURED_WORK: WorkFactors = {
  factors: [0.5, 0.6, 0.7, 0.8, 0.9, 1.05, 1.2, 1.5, 1.9, 2.4, 3.2, 4.2, 5.6, 7.5, 10, 14, 20, 28, 40],
  first: 3,
  isModelled: false,
  beyondBelow: BEYOND_OVERLOADED,
};
/** For work in units of which nothing is known: 4 ms to 60 s of one replica, in steps of a fifth. The largest counts first. */
export const UNKNOWN_WORK: WorkFactors = {
  factors: Array.from({ length: 54 }, (_, index) => 0.004 * 1.2 ** index),
  first: 53,
  isModelled: false,
  beyondBelow: BEYOND,
};

const BLOCK_S = 300;
/** Late requests that a factor may predict beyond the missed ones besides, in parts of all requests. */
const BEYOND_SHARE = 0.001;
/**
 * Factors above this one are reached in steps of a bin, not in the first minutes, and each with so many misses beyond several times the
 * predicted ones: figures of latencies are late themselves.
 */
const FAR = 1.2;
const FAR_AFTER_S = 600;
const FAR_TIMES = 4;
const FAR_SHARE = 0.05;
const FAR_REQUESTS = 100;
/** Bounds of the correction of the allowed share, and requests that count as seen with it at first. */
const MORE_MAX = 1.5;
const LESS_MIN = 0.1;
const REQUESTS_FIRST = 500;

export class CalibratedChoice {
  readonly #features: RuleFeatures;
  readonly #factors: readonly number[];
  readonly #first: number;
  readonly #beyondBelow: number;
  readonly #choices: readonly RuleChoice[];
  readonly #twins: ShadowEndpoints;
  #missed = 0;
  #blockS = 0;
  #elapsedS = 0;
  #at: number;

  /** `others`: names of the rules from outside. */
  constructor(toleranceS: number, others: readonly string[], { factors, first, isModelled, beyondBelow }: WorkFactors) {
    this.#features = new RuleFeatures(others);
    this.#factors = factors;
    this.#first = first;
    this.#beyondBelow = beyondBelow;
    this.#at = first;
    this.#choices = factors.map(
      (factor) => new RuleChoice(toleranceS, factor, this.#features, isModelled ? 1 : factor),
    );
    this.#twins = new ShadowEndpoints(factors, toleranceS);
  }

  serve(
    workS: number,
    tick: { readonly arrivals: number; readonly seconds: number; readonly ready: number; readonly missed: number },
  ): void {
    const { arrivals, seconds, ready, missed } = tick;
    for (const choice of this.#choices) choice.serve(workS, arrivals, seconds);
    this.#twins.follow(ready);
    this.#twins.serve(workS, arrivals, seconds);
    this.#missed += missed;
    this.#blockS += seconds;
    this.#elapsedS += seconds;
    if (this.#blockS < BLOCK_S) return;
    this.#missed *= this.#twins.closeBlock(this.#blockS);
    this.#blockS = 0;
  }

  /** Ends a bin. `others`: loads of the rules from outside. */
  closeBin(measured: BinTraffic, others: readonly number[], ahead: number): void {
    this.#features.closeBin(measured, others);
    for (const choice of this.#choices) choice.closeBin(this.#features, ahead);
  }

  choose(allowedShare: number): void {
    const slack = BEYOND_SHARE * this.#twins.requests;
    const late = this.#factors.map((_, index) => this.#twins.lateShare(index, 0) * this.#twins.requests);
    let at = this.#first;
    while (at > 0 && (late[at] ?? 0) > this.#beyondBelow * this.#missed + slack) at -= 1;
    while (at >= this.#first && at < late.length - 1 && BEYOND * (late[at] ?? 0) + slack < this.#missed) {
      const isFar = (this.#factors[at + 1] ?? 0) > FAR && at + 1 > this.#at;
      if (isFar && (at > this.#at || !this.#isFarOff(late[at] ?? 0))) break;
      at += 1;
    }
    this.#at = at;
    // Where shadows are too hopeful, the misses that there were are taken from what is allowed.
    const missedShare = (this.#missed + allowedShare * REQUESTS_FIRST) / (this.#twins.requests + REQUESTS_FIRST);
    this.#chosen.choose(allowedShare * Math.min(MORE_MAX, Math.max(LESS_MIN, allowedShare / missedShare)));
  }

  /** Misses that no delay of their figures explains. */
  #isFarOff(late: number): boolean {
    if (this.#elapsedS < FAR_AFTER_S) return false;
    return this.#missed > FAR_TIMES * late + FAR_SHARE * this.#twins.requests + FAR_REQUESTS;
  }

  get factor(): number {
    return this.#factors[this.#at] ?? 1;
  }

  get #chosen(): RuleChoice {
    const choice = this.#choices[this.#at];
    if (choice === undefined) throw new RangeError("no such factor");
    return choice;
  }

  /** `undefined`: too little traffic was seen. */
  get verdict(): RuleVerdict | undefined {
    return this.#chosen.isReady ? this.#chosen.verdict : undefined;
  }
}
