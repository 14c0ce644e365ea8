/**
 * Whether a canary fails more often than its baseline by more than a margin, for any number of looks at the data.
 *
 * Universal inference (Wasserman, Ramdas and Balakrishnan 2020): the likelihood of both, mixed over fixed alternatives,
 * divided by the largest likelihood under "the canary's rate is at most the baseline's plus the margin". Under this
 * hypothesis the quotient reaches 1/alpha at any time with a probability of at most alpha (Ville's inequality), exactly
 * and for every count.
 */
import { lnGamma } from "./ln-gamma.ts";

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

interface Counts {
  readonly requests: number;
  readonly errors: number;
}

export interface ErrorEvidence {
  /** ln of the quotient. */
  readonly lnEvidence: number;
  /** The same comparison as a standard normal deviate: the test of a fixed horizon. */
  readonly z: number;
}

export function errorEvidence(canary: Counts, baseline: Counts, margin: number): ErrorEvidence {
  if (canary.requests === 0 || baseline.requests === 0) return { lnEvidence: 0, z: 0 };
  const [worst, usual] = [canary.errors / canary.requests, baseline.errors / baseline.requests];
  if (worst <= usual + margin) return { lnEvidence: 0, z: 0 };
  const allowed = mostLikelyAllowed(canary, baseline, margin);
  const free = lnLikelihood(canary, worst) + lnLikelihood(baseline, usual);
  let mixed = -Infinity;
  for (const [rate, weight] of ALTERNATIVES) mixed = lnSum(mixed, Math.log(weight) + lnLikelihood(canary, rate));
  const { errors, requests } = baseline;
  const lnPrior = lnBeta(PRIOR_ERRORS, PRIOR_SUCCESSES);
  mixed += lnBeta(PRIOR_ERRORS + errors, PRIOR_SUCCESSES + requests - errors) - lnPrior;
  return { lnEvidence: Math.max(0, mixed - allowed), z: Math.sqrt(2 * Math.max(0, free - allowed)) };
}

/** The largest likelihood under the hypothesis: on its boundary, because the rates themselves violate it. */
function mostLikelyAllowed(canary: Counts, baseline: Counts, margin: number): number {
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
