import type { StageChoice } from "./space.ts";

/**
 * Lower bound of the time of a step with this division into stages. `wholeSeconds` is the time of one micro-batch over
 * the whole model. The slowest of p stages has at least a p-th of the work, and it runs once for each micro-batch.
 * Filling and draining costs the time of the other stages once, divided by the number of chunks in an interleaved
 * schedule, and by three under ZB-H1. Exchange of state, recomputation, transfers, optimizer and jitter can only add
 * time, so a plan whose bound is not below the best known step can be left out.
 */
export function stepLowerBound(wholeSeconds: number, stage: StageChoice): number {
  const share = wholeSeconds / stage.pipeline;
  const divisor = stage.schedule === "zero-bubble" ? 3 : stage.virtualStages;
  return stage.microBatchCount * share + (wholeSeconds - share) / divisor;
}

/**
 * Lower bound of the time over all divisions into stages. It assumes a perfect division without filling and draining.
 */
export function layerLowerBound(wholeSeconds: number, microBatchesPerAccelerator: number): number {
  return wholeSeconds * microBatchesPerAccelerator;
}
