/** Estimates the starts of all waiting work in a worker of its own, while the demo's worker continues. */
import { estimateStarts, presentOf, usualEstimateOptions } from "@headroom/sim";
import type { StartEstimate } from "@headroom/sim";

export interface EstimateRequest {
  readonly id: number;
  /** State of the demo's engine, as bytes. */
  readonly bytes: Uint8Array;
  readonly nowMs: number;
}

export interface EstimateAnswer {
  readonly id: number;
  readonly starts: readonly StartEstimate[];
}

function answer({ id, bytes, nowMs }: EstimateRequest): EstimateAnswer {
  const { engine } = presentOf(bytes, nowMs);
  return { id, starts: estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null }) };
}

addEventListener("message", ({ data }: MessageEvent<EstimateRequest>) => postMessage(answer(data)));
