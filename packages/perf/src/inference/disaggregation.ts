import type { InferenceConstants } from "../constants-inference.ts";
import {
  batchLimit,
  decodeStep,
  firstTokenOf,
  firstTokenSteps,
  firstWaveShareDisaggregated,
  meanContext,
  neighbourPromptsMs,
  promptLatencyMs,
  promptMs,
} from "./batching.ts";
import type { RequestShape, SteadyState } from "./batching.ts";
import { sequenceKvBytes } from "./kv-cache.ts";
import type { BuiltReplica } from "./replica.ts";

/**
 * Disaggregated serving: prefill and decode run on different workers (Splitwise, arXiv 2311.18677; DistServe,
 * 2401.09670).
 */
export interface DisaggregatedGroup {
  readonly prefill: BuiltReplica;
  readonly prefillCount: number;
  readonly decode: BuiltReplica;
  readonly decodeCount: number;
}

/** Time in ms to send a prompt's cache from prefill to decode over the accelerators' network ports. */
export function kvTransferMs(prefill: BuiltReplica, request: RequestShape, k: InferenceConstants): number {
  const bytes = sequenceKvBytes(prefill, request.promptTokens);
  return bytes / (prefill.accelerator.scaleOutGbPerS * 1e6 * k.linkEfficiency);
}

/** Number of bisection steps of the search for the batch. It is more than enough for any batch. */
const searchSteps = 40;

/**
 * Steady state with `concurrency` requests in flight over the prefill and the decode workers. The decode batch is the
 * largest for which (1) the cache suffices, (2) the prefill workers keep up, and (3) requests in prefill and in decode
 * together do not exceed `concurrency` (Little's law for each stage).
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
  let high = Math.min(concurrency / group.decodeCount, batchLimit(group.decode, request));
  if (isSustained(high)) low = high;
  for (let index = 0; index < searchSteps && low < high; index += 1) {
    const middle = (low + high) / 2;
    if (isSustained(middle)) low = middle;
    else high = middle;
  }
  const batch = Math.max(1, low);
  const tpotMs = decodeStep(group.decode, batch, context, k).totalMs;
  const requestsPerMs = (low * group.decodeCount) / (request.outputTokens * tpotMs);
  const inFlight = batch * group.decodeCount;
  const waiting = Math.max(0, concurrency - inFlight);
  const alone = promptLatencyMs(group.prefill, request, 0, k) + kvTransferMs(group.prefill, request, k);
  const firstToken = firstTokenOf({
    frontEndMs: k.requestOverheadMs,
    // Little's law over both stages: every request in flight that does not decode is waiting for its first token.
    admissionMs: Math.max(0, waiting / requestsPerMs - alone),
    // The steps count three times, because a request passes two engines with their own queues and schedulers, and the
    // router between them.
    queueMs:
      3 * firstTokenSteps(group.decode, k) * tpotMs +
      (firstWaveShareDisaggregated * (inFlight / group.prefillCount) * perPromptMs) / 2 +
      neighbourPromptsMs(group.prefill, request, inFlight / group.prefillCount, k),
    promptMs: alone,
  });
  return {
    batch,
    waiting,
    ttftMs: firstToken.totalMs,
    firstToken,
    tpotMs,
    stepMs: tpotMs,
    promptsMs: 0,
    outputTokensPerS: (1000 * low * group.decodeCount) / tpotMs,
  };
}
