import type { InferenceConstants } from "../constants-inference.ts";
import { batchLimit, decodeStep, meanContext, promptMs } from "./batching.ts";
import type { RequestShape, SteadyState } from "./batching.ts";
import type { BuiltReplica } from "./replica.ts";

/** Prompts are computed by some workers and answers by others (Splitwise, arXiv 2311.18677; DistServe, 2401.09670). */
export interface DisaggregatedGroup {
  readonly prefill: BuiltReplica;
  readonly prefillCount: number;
  readonly decode: BuiltReplica;
  readonly decodeCount: number;
}

/** Halvings of the search for the batch: more than enough for any batch that fits a machine. */
const searchSteps = 40;

/**
 * `concurrency` requests in flight over the two stages. The decode batch is the largest at which (1) the cache holds,
 * (2) the prefill workers keep up, and (3) requests in prefill and in decode together are no more than `concurrency`
 * (Little's law per stage).
 */
export function disaggregatedLoop(
  group: DisaggregatedGroup,
  request: RequestShape,
  concurrency: number,
  k: InferenceConstants,
): SteadyState {
  const perPromptMs = promptMs(group.prefill, request, k);
  const context = meanContext(request);
  const promptRate = group.prefillCount / perPromptMs;
  const isSustained = (batch: number): boolean => {
    const tpotMs = decodeStep(group.decode, batch, context, k).totalMs;
    const rate = (batch * group.decodeCount) / (request.outputTokens * tpotMs);
    return rate <= promptRate && batch * group.decodeCount + rate * perPromptMs <= concurrency;
  };
  let low = Math.min(1, concurrency / group.decodeCount);
  let high = Math.min(concurrency / group.decodeCount, batchLimit(group.decode, request, k));
  if (isSustained(high)) low = high;
  for (let index = 0; index < searchSteps && low < high; index += 1) {
    const middle = (low + high) / 2;
    if (isSustained(middle)) low = middle;
    else high = middle;
  }
  const batch = Math.max(1, low);
  const tpotMs = decodeStep(group.decode, batch, context, k).totalMs;
  return {
    batch,
    waiting: Math.max(0, concurrency - batch * group.decodeCount),
    tpotMs,
    outputTokensPerS: (1000 * low * group.decodeCount) / tpotMs,
  };
}
