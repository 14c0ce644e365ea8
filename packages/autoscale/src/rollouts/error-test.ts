/**
 * Whether a canary fails more often than its baseline by more than a margin, for any number of looks at the data.
 *
 * Universal inference (Wasserman, Ramdas and Balakrishnan 2020): the likelihood of both, mixed over fixed alternatives,
 * divided by the largest likelihood under "the canary's rate is at most the baseline's plus the margin". Under this
 * hypothesis the quotient reaches 1/alpha at any time with a probability of at most alpha (Ville's inequality), exactly
 * and for every count.
 *
 * Periods with other shares of both are compared within themselves: the rate of the baseline is one of each period, so that a
 * bad hour in which the canary had most of the requests is no evidence against it.
 */
import { lnGamma } from "./ln-gamma.ts";
import type { Counts } from "./reading.ts";

/** Alternatives of the canary and their weights: most of the weight is where a rollout usually goes wrong. */
const ALTERNATIVES: readonly (readonly [rate: number, weight: number])[] = [
  [0.02, 0.08],
  [0.05, 0.6],
  [0.1, 0.16],
  [0.2, 0.08],
  [0.5, 0.05],
  [0.95, 0.03],
];
/** Mixture of the baseline: error rates are small. */
const PRIOR_ERRORS = 1;
const PRIOR_SUCCESSES = 200;
const SEARCH_STEPS = 60;
/**
 * Weight of "the canary fails more from the first period on". The rest is for later beginnings, such as a regression that shows at
 * a larger share of the requests only: a mixture of quotients that begin later keeps the bound.
 */
const FROM_START = 0.7;

/** Requests of one period: the canary's beside the baseline's. */
export interface CountsPair {
  readonly canary: Counts;
  readonly baseline: Counts;
}

export interface ErrorEvidence {
  /** ln of the quotient. */
  readonly lnEvidence: number;
  /** The same comparison as a standard normal deviate: the test of a fixed horizon. */
  readonly z: number;
}

/** `periods`: the oldest first. */
export function errorEvidence(periods: readonly CountsPair[], margin: number): ErrorEvidence {
  // A period without one of both compares nothing.
  const compared = periods.filter(({ canary, baseline }) => canary.requests > 0 && baseline.requests > 0);
  if (!compared.some((period) => exceeds(period, margin))) return { lnEvidence: 0, z: 0 };
  const fits = compared.map((period) => fitOf(period, margin));
  let mixed = -Infinity;
  for (const start of compared.keys()) {
    const lnWeight = Math.log(start === 0 ? FROM_START : (1 - FROM_START) * 2 ** -start);
    mixed = lnSum(mixed, lnWeight + lnQuotient(compared.slice(start), fits.slice(start)));
  }
  const distance = fits.reduce((sum, { free, allowed }) => sum + free - allowed, 0);
  return { lnEvidence: Math.max(0, mixed), z: Math.sqrt(2 * Math.max(0, distance)) };
}

/** ln of the quotient over these periods, in which the canary has one error rate. */
function lnQuotient(periods: readonly CountsPair[], fits: readonly Fit[]): number {
  let mixed = -Infinity;
  for (const [rate, weight] of ALTERNATIVES)
    mixed = lnSum(
      mixed,
      periods.reduce((sum, { canary }) => sum + lnLikelihood(canary, rate), Math.log(weight)),
    );
  return fits.reduce((sum, { baseline, allowed }) => sum + baseline - allowed, mixed);
}

/** ln of likelihoods of one period. */
interface Fit {
  /** The largest of both revisions, and the largest under the hypothesis. */
  readonly free: number;
  readonly allowed: number;
  /** The baseline's, mixed over its error rates. */
  readonly baseline: number;
}

function fitOf(period: CountsPair, margin: number): Fit {
  const { canary, baseline } = period;
  const { errors, requests } = baseline;
  const free = lnLikelihood(canary, rateOf(canary)) + lnLikelihood(baseline, rateOf(baseline));
  return {
    free,
    allowed: exceeds(period, margin) ? mostLikelyAllowed(period, margin) : free,
    baseline:
      lnBeta(PRIOR_ERRORS + errors, PRIOR_SUCCESSES + requests - errors) - lnBeta(PRIOR_ERRORS, PRIOR_SUCCESSES),
  };
}

const rateOf = ({ requests, errors }: Counts): number => errors / requests;
const exceeds = ({ canary, baseline }: CountsPair, margin: number): boolean =>
  rateOf(canary) > rateOf(baseline) + margin;

/** The largest likelihood under the hypothesis: on its boundary, because the rates themselves violate it. */
function mostLikelyAllowed({ canary, baseline }: CountsPair, margin: number): number {
  const at = (rate: number): number => lnLikelihood(baseline, rate) + lnLikelihood(canary, rate + margin);
  let low = 0;
  let high = 1 - margin;
  // The likelihood is concave in the rate.
  for (let step = 0; step < SEARCH_STEPS; step++) {
    const left = low + (high - low) * 0.382;
    const right = low + (high - low) * 0.618;
    if (at(left) < at(right)) low = left;
    else high = right;
  }
  return at((low + high) / 2);
}

const lnLikelihood = ({ requests, errors }: Counts, rate: number): number =>
  xLnY(errors, rate) + xLnY(requests - errors, 1 - rate);
const xLnY = (x: number, y: number): number => (x === 0 ? 0 : x * Math.log(y));
const lnBeta = (a: number, b: number): number => lnGamma(a) + lnGamma(b) - lnGamma(a + b);

function lnSum(left: number, right: number): number {
  const most = Math.max(left, right);
  return most === -Infinity ? most : most + Math.log(Math.exp(left - most) + Math.exp(right - most));
}
