/**
 * Whether a canary's latencies exceed its baseline's by more than a margin, for any number of looks at the data.
 *
 * The mixture sequential probability ratio test (Robbins 1970; Johari, Koomen, Pekelis and Walsh 2022, "Always valid
 * inference: continuous monitoring of A/B tests") on means of logarithms, with a mixture over slower
 * canaries alone. Variances are estimated: it is valid in the limit (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024,
 * "Time-uniform central limit theory and asymptotic confidence sequences"), so that a minimum of data comes first.
 * Strata are compared within themselves, and their scores are added.
 */
import type { Moments, StratifiedMoments } from "./reading.ts";

/** Degrees of freedom of the variance that each side needs. */
const FREEDOM_MIN = 25;
/** Requests of each side in a stratum that counts. */
const STRATUM_MIN = 2;

export interface LatencyEvidence {
  readonly lnEvidence: number;
  /** The same comparison as a standard normal deviate: the test of a fixed horizon. */
  readonly z: number;
  /** Canary ÷ baseline, over strata that both have; `null`: there is too little data. */
  readonly ratio: number | null;
}

const nothing: LatencyEvidence = { lnEvidence: 0, z: 0, ratio: null };

/** `marginRatio`: 1.05 allows 5% more. `scale`: the size of regressions worth finding beyond the margin, as a difference of logarithms. */
export function latencyEvidence(
  canary: StratifiedMoments,
  baseline: StratifiedMoments,
  { marginRatio, scale }: { readonly marginRatio: number; readonly scale: number },
): LatencyEvidence {
  const strata = [...canary.keys()].filter(
    (key) => countIn(canary, key) >= STRATUM_MIN && countIn(baseline, key) >= STRATUM_MIN,
  );
  const ofCanary = varianceWithin(canary, strata);
  const ofBaseline = varianceWithin(baseline, strata);
  if (ofCanary === null || ofBaseline === null) return nothing;
  let score = 0;
  let information = 0;
  for (const key of strata) {
    const [one, other] = [canary.get(key), baseline.get(key)];
    if (one === undefined || other === undefined) continue;
    const variance = ofCanary / one.count + ofBaseline / other.count;
    score += (one.sum / one.count - other.sum / other.count) / variance;
    information += 1 / variance;
  }
  const ratio = Math.exp(score / information);
  const above = score - information * Math.log(marginRatio);
  const lnEvidence = Math.max(0, lnMixedRatio(above, information, scale));
  return { lnEvidence, z: above / Math.sqrt(information), ratio };
}

/** Sizes of a regression beyond the margin, in multiples of the size worth finding, and their weights in the mixture. */
const ALTERNATIVES: readonly (readonly [multiple: number, weight: number])[] = [
  [0.5, 0.05],
  [1, 0.8],
  [2, 0.15],
];

/** ln of the likelihood ratio of the score, mixed over the alternatives. */
function lnMixedRatio(score: number, information: number, scale: number): number {
  const exponents = ALTERNATIVES.map(([multiple, weight]) => {
    const size = multiple * scale;
    return Math.log(weight) + size * score - 0.5 * size * size * information;
  });
  const most = Math.max(...exponents);
  return most + Math.log(exponents.reduce((sum, each) => sum + Math.exp(each - most), 0));
}

const countIn = (moments: StratifiedMoments, key: number): number => moments.get(key)?.count ?? 0;

/** One variance for all strata: few requests of one stratum would underestimate theirs. `null`: too little data. */
function varianceWithin(moments: StratifiedMoments, strata: readonly number[]): number | null {
  let squares = 0;
  let freedom = 0;
  for (const key of strata) {
    const each = moments.get(key);
    if (each === undefined) continue;
    squares += squaresAround(each);
    freedom += each.count - 1;
  }
  // Equal latencies are no evidence of an infinite precision.
  return freedom < FREEDOM_MIN ? null : Math.max(squares / (freedom - 2), VARIANCE_MIN);
}

const VARIANCE_MIN = 1e-4;

const squaresAround = ({ count, sum, sumOfSquares }: Moments): number =>
  Math.max(0, sumOfSquares - (sum * sum) / count);
