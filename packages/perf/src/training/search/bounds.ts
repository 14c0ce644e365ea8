import type { StageChoice } from "./space.ts";

/**
 * Minimum time of a step with these stages; `wholeSeconds` is one micro-batch over the whole model. The slowest of p
 * stages has at least a p-th of the work and runs m times. Filling and draining costs the other stages once, divided by
 * the chunks of an interleaved schedule and by three under ZB-H1. Exchange of state, recomputation, transfers,
 * optimizer and jitter only add time, so a plan whose bound is not below the best known step can be left out.
 */
export function stepLowerBound(wholeSeconds: number, stage: StageChoice): number {
  const share = wholeSeconds / stage.pipeline;
  const divisor = stage.schedule === "zero-bubble" ? 3 : stage.virtualStages;
  return stage.microBatchCount * share + (wholeSeconds - share) / divisor;
}

/** Minimum time over all ways to form stages: perfectly divided, without filling and draining. */
export function layerLowerBound(wholeSeconds: number, microBatchesPerAccelerator: number): number {
  return wholeSeconds * microBatchesPerAccelerator;
}
