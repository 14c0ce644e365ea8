import type { InferenceConstants } from "../constants-inference.ts";
import type { BuiltReplica } from "./replica.ts";

/** Where four of five measurements of such a configuration lie. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * The interval around a predicted time or rate: as wide as four of five left-out measurements were off. Mixtures of
 * experts are less certain than dense models: routing, expert placement and speculative decoding differ between engines.
 */
export function interval80(replica: BuiltReplica, value: number, k: InferenceConstants): Interval {
  const spread = replica.shape.expertLayerCount > 0 ? k.expertSpread : k.denseSpread;
  return { low: value / Math.exp(spread), high: value * Math.exp(spread) };
}
