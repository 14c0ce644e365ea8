import type { InferenceConstants } from "../constants-inference.ts";
import { servingKindOf } from "./evidence.ts";
import type { ServingEvidenceReading } from "./evidence.ts";
import type { Replica } from "./replica.ts";

/** Range that contains four of five measurements of the predicted configuration. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * Predicted quantity. `step`: the time per token, from which the throughput follows. `firstToken`: the time to the
 * first token.
 */
export type PredictedQuantity = "step" | "firstToken";

/**
 * Additional width of an interval for each fact that published configurations do not state: the scaling recipe of a
 * narrow number format, the popularity of experts, and the number of speculated tokens (mostly with latent attention).
 * The values were chosen so that intervals are equally accurate for all configurations.
 */
const doubts = { narrowFormat: 0.6, experts: 1, latent: 0.5, distance: 0.5 } as const;

/**
 * Width of the interval. It is the natural logarithm of the ratio between the upper end and the prediction, which
 * equals the ratio between the prediction and the lower end.
 */
export function intervalWidth(
  replica: Replica,
  quantity: PredictedQuantity,
  evidence: ServingEvidenceReading,
  k: InferenceConstants,
): number {
  const { model } = replica;
  const points =
    1 +
    (servingKindOf(replica).matrixClass === "bf16" ? 0 : doubts.narrowFormat) +
    (model.experts === undefined ? 0 : doubts.experts) +
    (model.attention.kind === "latent" ? doubts.latent : 0) +
    doubts.distance * evidence.distance;
  return points * (quantity === "step" ? k.stepSpread : k.firstTokenSpread);
}

/**
 * The 80% interval. It is symmetric in the logarithm. It is wider if facts are not stated, and with a larger distance
 * from measured replicas. The two spread constants are quantiles over sources that were left out of the fit and did not
 * count as evidence: with them, four of five measurements are inside their interval (conformal prediction over sources;
 * Vovk et al., Algorithmic Learning in a Random World, 2005).
 */
export function interval80(value: number, width: number): Interval {
  return { low: value / Math.exp(width), high: value * Math.exp(width) };
}
