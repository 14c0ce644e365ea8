import { intervalConstants, type FittedConstant } from "../constants.ts";
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
 * The 80% interval, symmetric in the logarithm. Its width is what equal configurations differ by between publications, plus
 * a share of the parts that are hard to predict; both were set on sources that the constants had not been fitted to.
 */
export function predictionInterval(estimate: StepEstimate): PredictionInterval {
  const { spread, doubt } = intervalConstants;
  const width = valueOf(spread) + valueOf(doubt) * doubtfulShare(estimate.breakdown, estimate.seconds);
  return {
    lowSeconds: estimate.seconds * Math.exp(-width),
    highSeconds: estimate.seconds * Math.exp(width),
    level: 0.8,
  };
}
