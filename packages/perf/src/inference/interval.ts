import type { InferenceConstants } from "../constants-inference.ts";
import { servingKindOf } from "./evidence.ts";
import type { ServingEvidenceReading } from "./evidence.ts";
import type { Replica } from "./replica.ts";

/** Range that contains four of five measurements of such a configuration. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Predicted quantity: the time per token and the throughput that follows from it, or the time to the first token. */
export type PredictedQuantity = "step" | "firstToken";

/**
 * Added widths of an interval for facts that published configurations do not state: scaling recipes of narrow formats,
 * popular experts, speculated tokens (mostly with latent attention). Chosen so that the intervals are equally accurate
 * for all of them.
 */
const doubts = { narrowFormat: 0.6, experts: 1, latent: 0.5, distance: 0.5 } as const;

/** Width of the interval: natural logarithm of the ratio of either end to the prediction. */
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
 * The 80% interval, symmetric in the logarithm. It is wider for facts that are not stated and with the distance from
 * measured replicas. The two spreads are the quantiles that contain four of five measurements of sources that were left
 * out of the fit and did not count as evidence (conformal prediction over sources; Vovk et al., Algorithmic Learning in
 * a Random World, 2005).
 */
export function interval80(value: number, width: number): Interval {
  return { low: value / Math.exp(width), high: value * Math.exp(width) };
}
