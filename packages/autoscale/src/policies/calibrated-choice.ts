/**
 * Corrects the work that traffic is measured to be by the misses of the real endpoint: shadows that have the real
 * replicas tell how many requests would be late if the work were more or less. The largest factor that does not
 * predict more late requests than there were counts, so an endpoint without a miss only proves what it has tried.
 */
import { RuleChoice, type RuleVerdict } from "./rule-choice.ts";
import { ShadowEndpoints } from "./shadow-endpoints.ts";

const FACTORS = [0.65, 0.75, 0.85, 0.9, 1.05, 1.2] as const;
/** The capacity of a replica is a little pessimistic: measured traffic was 0.75 to 0.9 of it. */
const FACTOR_FIRST = 3;
const BLOCK_S = 300;
/** Late requests that a factor may predict beyond the missed ones: in times of these, and in parts of all requests. */
const BEYOND = 1.15;
const BEYOND_SHARE = 0.001;
/** Bounds of the correction of the allowed share, and requests that count as seen with it at first. */
const MORE_MAX = 1.5;
const LESS_MIN = 0.1;
const REQUESTS_FIRST = 500;

export class CalibratedChoice {
  readonly #choices: readonly RuleChoice[];
  readonly #twins: ShadowEndpoints;
  #missed = 0;
  #blockS = 0;
  #at = FACTOR_FIRST;

  /** `others`: names of the rules from outside. */
  constructor(toleranceS: number, others: readonly string[]) {
    this.#choices = FACTORS.map((factor) => new RuleChoice(toleranceS, factor, others));
    this.#twins = new ShadowEndpoints(FACTORS, toleranceS);
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
    if (this.#blockS < BLOCK_S) return;
    this.#missed *= this.#twins.closeBlock(this.#blockS);
    this.#blockS = 0;
  }

  closeBin(measured: { readonly load: number; readonly mean: number }, others: readonly number[], ahead: number): void {
    for (const choice of this.#choices) choice.closeBin(measured, others, ahead);
  }

  choose(allowedShare: number): void {
    const slack = BEYOND_SHARE * this.#twins.requests;
    const late = FACTORS.map((_, index) => this.#twins.lateShare(index, 0) * this.#twins.requests);
    let at = FACTOR_FIRST;
    while (at > 0 && (late[at] ?? 0) > BEYOND * this.#missed + slack) at -= 1;
    while (at >= FACTOR_FIRST && at < FACTORS.length - 1 && BEYOND * (late[at] ?? 0) + slack < this.#missed) at += 1;
    this.#at = at;
    // Where shadows are too hopeful, the misses that there were are taken from what is allowed.
    const missedShare = (this.#missed + allowedShare * REQUESTS_FIRST) / (this.#twins.requests + REQUESTS_FIRST);
    this.chosen.choose(allowedShare * Math.min(MORE_MAX, Math.max(LESS_MIN, allowedShare / missedShare)));
  }

  get factor(): number {
    return FACTORS[this.#at] ?? 1;
  }

  get chosen(): RuleChoice {
    const choice = this.#choices[this.#at];
    if (choice === undefined) throw new RangeError("no such factor");
    return choice;
  }

  /** `undefined`: too little traffic was seen. */
  get verdict(): RuleVerdict | undefined {
    return this.chosen.isReady ? this.chosen.verdict : undefined;
  }
}
