import type { InferenceConstants } from "../constants-inference.ts";
import { stepTime } from "./forward.ts";
import type { StepTime } from "./forward.ts";
import { sequencesThatFit } from "./kv-cache.ts";
import type { BuiltReplica } from "./replica.ts";

/** Lengths of a request, tokens. */
export interface RequestShape {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Share of the prompt whose cache is found from an earlier request. */
  readonly prefixHitShare: number;
}

/** Mean context of a decoding request: the whole prompt and, on average, half of its output. */
export function meanContext(request: RequestShape): number {
  return request.promptTokens + request.outputTokens / 2;
}

/** Sequences that run at once at most: what fits into the cache, and what the engine allows. */
export function batchLimit(replica: BuiltReplica, request: RequestShape, k: InferenceConstants): number {
  const held = request.promptTokens + request.outputTokens * k.kvReservedOutput;
  return Math.min(sequencesThatFit(replica, held), replica.engine.sequencesMax * replica.layout.attentionData);
}

export function decodeStep(replica: BuiltReplica, sequences: number, context: number, k: InferenceConstants): StepTime {
  return stepTime(
    replica,
    { decodeSequences: sequences, decodeContext: context, promptTokens: 0, promptContext: 0, promptsEnding: 0 },
    k,
  );
}

/**
 * Engine time that one prompt takes, ms, when steps are filled with prompt tokens up to the engine's limit: a short
 * prompt shares its step with others, a long one takes several.
 */
export function promptMs(replica: BuiltReplica, request: RequestShape, k: InferenceConstants): number {
  const tokens = request.promptTokens * (1 - request.prefixHitShare);
  if (tokens <= 0) return 0;
  const filled = replica.engine.stepTokensMax * replica.layout.attentionData * replica.layout.pipeline;
  const work = {
    decodeSequences: 0,
    decodeContext: 0,
    promptTokens: filled,
    promptContext: request.promptTokens - tokens / 2,
    promptsEnding: filled / tokens,
  };
  return (stepTime(replica, work, k).totalMs * tokens) / filled;
}

/** A steady state of one engine. */
export interface SteadyState {
  readonly batch: number;
  /** Requests that wait for room in the cache. */
  readonly waiting: number;
  readonly tpotMs: number;
  readonly outputTokensPerS: number;
}

/**
 * `concurrency` requests are kept in flight; each that ends is followed by the next. Every running request waits for the
 * prompts of those that start meanwhile: (batch - 1) prompts per lifetime of a request.
 */
export function closedLoop(
  replica: BuiltReplica,
  request: RequestShape,
  concurrency: number,
  k: InferenceConstants,
): SteadyState {
  const batch = Math.max(1, Math.min(concurrency, batchLimit(replica, request, k)));
  const step = decodeStep(replica, batch, meanContext(request), k).totalMs;
  const prompts = (k.prefillInterference * (batch - 1) * promptMs(replica, request, k)) / request.outputTokens;
  const tpotMs = step + prompts;
  const own = promptMs(replica, request, k);
  const perRequestMs = own + request.outputTokens * tpotMs;
  return {
    batch,
    waiting: Math.max(0, concurrency - batch),
    tpotMs,
    outputTokensPerS: (batch * request.outputTokens * 1000) / perRequestMs,
  };
}

/** A whole batch starts together and ends together. */
export function staticBatch(
  replica: BuiltReplica,
  request: RequestShape,
  batch: number,
  k: InferenceConstants,
): SteadyState {
  const tpotMs = decodeStep(replica, batch, meanContext(request), k).totalMs;
  const totalMs = batch * promptMs(replica, request, k) + request.outputTokens * tpotMs;
  return { batch, waiting: 0, tpotMs, outputTokensPerS: (batch * request.outputTokens * 1000) / totalMs };
}
