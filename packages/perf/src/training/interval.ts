import { intervalConstants, type FittedConstant } from "../constants.ts";
import type { EvidenceReading } from "./evidence.ts";
import type { StepBreakdown, StepEstimate } from "./step.ts";

/** Between these two a step's time is expected with the stated probability. */
export interface PredictionInterval {
  readonly lowSeconds: number;
  readonly highSeconds: number;
  readonly level: number;
}

const valueOf = (constant: FittedConstant): number => constant.value;

/** Parts of a step that measurements of other sources confirm least: what is exchanged, waited for and routed. */
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
 * The 80% interval, symmetric in the logarithm. Its width is what equal configurations differ by between publications, a share
 * of the parts that are hard to predict, and the distance from what was measured; the three were set on whole sources that the
 * constants had not been fitted to and that counted as no evidence.
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
