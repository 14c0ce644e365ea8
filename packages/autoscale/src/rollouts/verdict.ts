/**
 * The verdict on a canary beside its baseline. It may be taken after every request: all tests are anytime valid, so the
 * probability that a canary that is not worse is ever condemned is at most `FALSE_ALARM_MAX`, over a whole rollout.
 * Too little data is never a verdict, neither for nor against the canary.
 */
import { errorEvidence, type CountsPair } from "./error-test.ts";
import { latencyEvidence, type LatencyEvidence } from "./latency-test.ts";
import type { RevisionReading } from "./reading.ts";

/** Regressions that a rollout accepts. `null`: the figure is not looked at. */
export interface RolloutMargins {
  /** Share of requests: 0.01 allows one more failed request of 100. */
  readonly errorRate: number | null;
  /** Share of the baseline's: 0.05 allows 5% more. */
  readonly ttft: number | null;
  readonly tpot: number | null;
}

export type RolloutFigure = "errorRate" | "ttft" | "tpot";

/** One figure of the canary beside the baseline's. */
export interface FigureEvidence {
  readonly figure: RolloutFigure;
  /** Error rates of both; of latencies the ratio of the canary's to the baseline's. `null`: too little data. */
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
const LN_LIMIT = -Math.log(FALSE_ALARM_MAX / FIGURES);
/** Requests of each side without which nothing is known. */
const REQUESTS_MIN = 50;
/** Share of the evidence that condemns from which a canary does not advance. */
const SUSPECT_SHARE = 0.35;
/** Regressions worth finding: 20% more of a TTFT, 10% more of a TPOT. The test is the fastest there, and finds others too. */
const WORTH_FINDING = { ttft: 0.2, tpot: 0.1 } as const;

/** With a large margin, a regression worth finding is this much beyond it. */
const SCALE_MIN = 0.05;

export function rolloutVerdict(
  canary: RevisionReading,
  baseline: RevisionReading,
  margins: RolloutMargins,
): RolloutVerdict {
  const figures = [
    ...errorFigure(canary, baseline, margins.errorRate),
    ...latencyFigure("ttft", canary, baseline, margins.ttft),
    ...latencyFigure("tpot", canary, baseline, margins.tpot),
  ];
  return { kind: kindOf(canary, baseline, figures), requests: canary.requests, figures };
}

function kindOf(
  canary: RevisionReading,
  baseline: RevisionReading,
  figures: readonly FigureEvidence[],
): RolloutVerdict["kind"] {
  const most = Math.max(0, ...figures.map(({ evidence }) => evidence));
  if (most >= 1) return "worse";
  if (most >= SUSPECT_SHARE) return "suspect";
  return canary.requests < REQUESTS_MIN || baseline.requests < REQUESTS_MIN ? "unknown" : "good";
}

function errorFigure(
  canary: RevisionReading,
  baseline: RevisionReading,
  margin: number | null,
): readonly FigureEvidence[] {
  if (margin === null) return [];
  const { lnEvidence } = errorEvidence(periodsOf(canary, baseline), margin);
  return [
    {
      figure: "errorRate",
      canary: rateOf(canary),
      baseline: rateOf(baseline),
      margin,
      evidence: lnEvidence / LN_LIMIT,
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
  margin: number | null,
): readonly FigureEvidence[] {
  if (margin === null) return [];
  const { lnEvidence, ratio }: LatencyEvidence = latencyEvidence(canary[figure], baseline[figure], {
    marginRatio: 1 + margin,
    scale: Math.max(SCALE_MIN, Math.log((1 + WORTH_FINDING[figure]) / (1 + margin))),
  });
  return [{ figure, canary: ratio, baseline: ratio === null ? null : 1, margin, evidence: lnEvidence / LN_LIMIT }];
}
