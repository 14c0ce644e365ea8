/**
 * The verdict on a canary beside its baseline. It may be taken after every request: all tests are anytime valid, so the
 * probability that a canary that is not worse is ever condemned is at most `FALSE_ALARM_MAX`, over a whole rollout.
 * Too little data is never a verdict, neither for nor against the canary.
 */
import { errorEvidence, type CountsPair } from "./error-test.ts";
import { latencyEvidence, type LatencyEvidence } from "./latency-test.ts";
import type { Moments, RevisionReading, StratifiedMoments } from "./reading.ts";

/** Regressions that a rollout accepts. `null`: the figure is not looked at. */
export interface RolloutMargins {
  /** Share of requests: 0.01 allows one more failed request of 100. */
  readonly errorRate: number | null;
  /** Share of the baseline's: 0.05 allows 5% more. */
  readonly ttft: number | null;
  readonly tpot: number | null;
  /** Difference of mean scores: 0.05 allows 0.05 less. */
  readonly quality: number | null;
}

export type RolloutFigure = "errorRate" | "ttft" | "tpot" | "quality";

/** One figure of the canary beside the baseline's. */
export interface FigureEvidence {
  readonly figure: RolloutFigure;
  /** Error rates, or mean scores, of both; of latencies the ratio of the canary's to the baseline's. `null`: too little data. */
  readonly canary: number | null;
  readonly baseline: number | null;
  readonly margin: number;
  /** Evidence that the margin is exceeded, as a share of that which condemns the canary: 1 condemns. */
  readonly evidence: number;
}

/**
 * `worse`: the canary is condemned. `suspect`: evidence against it, not enough for a verdict. `unknown`: too few
 * requests. `good`: enough requests and no evidence against it.
 */
export interface RolloutVerdict {
  readonly kind: "worse" | "suspect" | "unknown" | "good";
  /** Requests of the canary that ended. */
  readonly requests: number;
  readonly figures: readonly FigureEvidence[];
}

/** Probability that a canary that is not worse is condemned, over all looks and figures of a rollout. */
const FALSE_ALARM_MAX = 0.01;
const FIGURES = 3;
/** ln of the evidence that condemns: figures share the probability of a false alarm, the score as a fourth one where it counts. */
const lnLimitOf = ({ quality }: RolloutMargins): number =>
  -Math.log(FALSE_ALARM_MAX / (quality === null ? FIGURES : FIGURES + 1));
/** Requests of each side without which nothing is known. */
const REQUESTS_MIN = 50;
/** Share of the evidence that condemns from which a canary does not advance. */
const SUSPECT_SHARE = 0.35;
/** Regressions worth finding: 20% more of a TTFT, 10% more of a TPOT. The test is the fastest there, and finds others too. */
const WORTH_FINDING = { ttft: 0.2, tpot: 0.1 } as const;

/** With a large margin, a regression worth finding is this much beyond it. */
const SCALE_MIN = 0.05;

/** `needsScores`: without enough scores the verdict is `unknown`. Only copied requests are scored, so later steps bring none. */
export function rolloutVerdict(
  canary: RevisionReading,
  baseline: RevisionReading,
  margins: RolloutMargins,
  needsScores: boolean = margins.quality !== null,
): RolloutVerdict {
  const lnLimit = lnLimitOf(margins);
  const figures = [
    ...errorFigure(canary, baseline, { margin: margins.errorRate, lnLimit }),
    ...latencyFigure("ttft", canary, baseline, { margin: margins.ttft, lnLimit }),
    ...latencyFigure("tpot", canary, baseline, { margin: margins.tpot, lnLimit }),
    ...qualityFigure(canary, baseline, { margin: margins.quality, lnLimit }),
  ];
  return { kind: kindOf(canary, baseline, { figures, needsScores }), requests: canary.requests, figures };
}

function kindOf(
  canary: RevisionReading,
  baseline: RevisionReading,
  { figures, needsScores }: { readonly figures: readonly FigureEvidence[]; readonly needsScores: boolean },
): RolloutVerdict["kind"] {
  const most = Math.max(0, ...figures.map(({ evidence }) => evidence));
  if (most >= 1) return "worse";
  if (most >= SUSPECT_SHARE) return "suspect";
  if (canary.requests < REQUESTS_MIN || baseline.requests < REQUESTS_MIN) return "unknown";
  return needsScores && (canary.quality?.count ?? 0) < REQUESTS_MIN ? "unknown" : "good";
}

interface Tested {
  readonly margin: number | null;
  readonly lnLimit: number;
}

function errorFigure(
  canary: RevisionReading,
  baseline: RevisionReading,
  { margin, lnLimit }: Tested,
): readonly FigureEvidence[] {
  if (margin === null) return [];
  const { lnEvidence } = errorEvidence(periodsOf(canary, baseline), margin);
  return [
    {
      figure: "errorRate",
      canary: rateOf(canary),
      baseline: rateOf(baseline),
      margin,
      evidence: lnEvidence / lnLimit,
    },
  ];
}

function periodsOf(canary: RevisionReading, baseline: RevisionReading): readonly CountsPair[] {
  if (canary.periods === undefined || baseline.periods === undefined) return [{ canary, baseline }];
  return [...canary.periods].flatMap(([period, counts]) => {
    const other = baseline.periods?.get(period);
    return other === undefined ? [] : [{ canary: counts, baseline: other }];
  });
}

const rateOf = ({ requests, errors }: RevisionReading): number | null => (requests === 0 ? null : errors / requests);

function latencyFigure(
  figure: "ttft" | "tpot",
  canary: RevisionReading,
  baseline: RevisionReading,
  { margin, lnLimit }: Tested,
): readonly FigureEvidence[] {
  if (margin === null) return [];
  const { lnEvidence, ratio }: LatencyEvidence = latencyEvidence(canary[figure], baseline[figure], {
    marginRatio: 1 + margin,
    scale: Math.max(SCALE_MIN, Math.log((1 + WORTH_FINDING[figure]) / (1 + margin))),
  });
  return [{ figure, canary: ratio, baseline: ratio === null ? null : 1, margin, evidence: lnEvidence / lnLimit }];
}

/** Mean scores are compared by the test of latencies: a lower score is a larger value of its negative. */
function qualityFigure(
  canary: RevisionReading,
  baseline: RevisionReading,
  { margin, lnLimit }: Tested,
): readonly FigureEvidence[] {
  if (margin === null) return [];
  const { lnEvidence } = latencyEvidence(negated(canary), negated(baseline), {
    marginRatio: Math.exp(margin),
    scale: SCALE_MIN,
  });
  const [one, other] = [meanOf(canary.quality), meanOf(baseline.quality)];
  return [{ figure: "quality", canary: one, baseline: other, margin, evidence: lnEvidence / lnLimit }];
}

const negated = ({ quality }: RevisionReading): StratifiedMoments =>
  quality === undefined ? new Map() : new Map([[0, { ...quality, sum: -quality.sum }]]);

const meanOf = (moments: Moments | undefined): number | null =>
  moments === undefined || moments.count === 0 ? null : moments.sum / moments.count;
