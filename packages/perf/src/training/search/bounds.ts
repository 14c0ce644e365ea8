import type { StageChoice } from "./space.ts";

/**
 * The least that a step can take with these stages: `wholeSeconds` is one micro-batch over the whole model. The slowest of p
 * stages holds at least a p-th of it and works m times; filling and draining costs the other stages once, divided by the
 * chunks of an interleaved schedule and by three under ZB-H1. Exchange of state, recomputation, transfers, optimizer and
 * jitter only add to it, so a plan whose bound is not below the best known step can be left out without loss.
 */
export function stepLowerBound(wholeSeconds: number, stage: StageChoice): number {
  const share = wholeSeconds / stage.pipeline;
  const divisor = stage.schedule === "zero-bubble" ? 3 : stage.virtualStages;
  return stage.microBatchCount * share + (wholeSeconds - share) / divisor;
}

/** The same over all ways to make stages: perfectly divided, nothing to fill. */
export function layerLowerBound(wholeSeconds: number, microBatchesPerAccelerator: number): number {
  return wholeSeconds * microBatchesPerAccelerator;
}
