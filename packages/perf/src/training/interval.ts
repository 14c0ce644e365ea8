import { intervalConstants, type FittedConstant } from "../constants.ts";
import type { EvidenceReading } from "./evidence.ts";
import type { StepBreakdown, StepEstimate } from "./step.ts";

/** Bounds of a step's time. The time lies between them with the stated probability. */
export interface PredictionInterval {
  readonly lowSeconds: number;
  readonly highSeconds: number;
  readonly level: number;
}

const valueOf = (constant: FittedConstant): number => constant.value;

/**
 * Share of a step's time in the parts that are hardest to predict for new sources of measurements: communication, waits
 * and routing.
 */
function doubtfulShare(breakdown: StepBreakdown, seconds: number): number {
  const exchanged =
    breakdown.tensorExchange +
    breakdown.contextExchange +
    breakdown.stageTransfer +
    breakdown.stateExchange +
    breakdown.bubble;
  const routed = breakdown.expertExchange + breakdown.routing + breakdown.launch;
  return (exchanged + routed) / seconds;
}

/**
 * The 80% interval. It is symmetric in the logarithm. Its width combines three parts: the spread between publications
 * of equal configurations, a share of the parts that are hard to predict, and the distance from measured runs. The
 * three constants were set with whole sources that were left out of the fit and did not count as evidence.
 */
export function predictionInterval(estimate: StepEstimate, evidence: EvidenceReading): PredictionInterval {
  const { spread, doubt, distance } = intervalConstants;
  const width =
    valueOf(spread) +
    valueOf(doubt) * doubtfulShare(estimate.breakdown, estimate.seconds) +
    valueOf(distance) * evidence.distance;
  return {
    lowSeconds: estimate.seconds * Math.exp(-width),
    highSeconds: estimate.seconds * Math.exp(width),
    level: 0.8,
  };
}
