import type { InferenceConstants } from "../constants-inference.ts";
import { servingKindOf } from "./evidence.ts";
import type { ServingEvidenceReading } from "./evidence.ts";
import type { Replica } from "./replica.ts";

/** Where four of five measurements of such a configuration lie. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** What is predicted: the time per token and the throughput that follows from it, or the time to the first token. */
export type PredictedQuantity = "step" | "firstToken";

/**
 * Points by which an interval is wider for what published configurations do not state: scaling recipes of narrow formats,
 * which experts are popular, whether tokens are speculated (mostly with latent attention). Chosen so that the intervals
 * hold alike for all of them.
 */
const doubts = { narrowFormat: 0.6, experts: 1, latent: 0.5, distance: 0.5 } as const;

/** Width of the interval, natural logarithm of the ratio to the prediction at either end. */
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
 * The 80% interval, symmetric in the logarithm: wider for what is not stated and with the distance from what was measured.
 * The two spreads are the quantiles that hold four of five measurements of sources that were left out of the fit and that
 * counted as no evidence (conformal prediction over sources; Vovk et al., Algorithmic Learning in a Random World, 2005).
 */
export function interval80(value: number, width: number): Interval {
  return { low: value / Math.exp(width), high: value * Math.exp(width) };
}
