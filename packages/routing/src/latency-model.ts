/**
 * Predicts the time to the first token and per output token on one replica. It is a closed form over the engine's
 * batch, with the coefficients of `LatencyCoefficients` after correction by `Calibration`. The engine runs steps. Each
 * step decodes every running sequence and spends the rest of `maxBatchedTokens` on prefill (chunked prefill,
 * https://docs.vllm.ai/en/latest/configuration/optimization.html).
 */
import type { ReplicaState } from "./replica-state.ts";

/**
 * Maximum share of the steps that a prediction leaves to prefill. With a larger share, the predicted queue
 * would grow without limit.
 */
const MAX_PREFILL_SHARE = 0.9;

export interface Prediction {
  ttftMs: number;
  tpotMs: number;
  /** Queueing time in ms before the first step of the request. It is a part of `ttftMs`. */
  queueMs: number;
}

/** Tokens of one request on one replica. */
export interface Demand {
  uncachedTokens: number;
  promptTokens: number;
  outputTokens: number;
  /** Time in ms before the engine can begin: round trip and loading of an adapter. */
  delayMs: number;
}

/** Duration of a step without prefill, in ms. It decodes `sequences` with `residentTokens` in the cache. */
function stepMs(replica: ReplicaState, sequences: number, residentTokens: number): number {
  const { calibration } = replica;
  return calibration.stepMs + calibration.stepMsPerSequence * sequences + calibration.stepMsPerKvToken * residentTokens;
}

/** Writes the prediction for one more request on the replica into `out`. */
export function predict(replica: ReplicaState, demand: Demand, out: Prediction): void {
  const { calibration } = replica;
  const sequences = replica.sequences;
  const waiting = replica.waiting;
  const resident = replica.residentTokens;
  const step = stepMs(replica, sequences, resident);
  const prefillTokens = replica.pendingPrefillTokens + demand.uncachedTokens;
  const chunk = Math.max(replica.maxBatchedTokens - sequences, 1);
  const steps = Math.max(1, prefillTokens / chunk);
  const attentionMs =
    calibration.prefillMsPerTokenSquared * demand.uncachedTokens * (demand.promptTokens - demand.uncachedTokens / 2);
  out.queueMs = slotWaitMs(replica, demand, step) + (sequences > 0 ? step / 2 : 0);
  out.ttftMs =
    demand.delayMs +
    calibration.requestMs +
    out.queueMs +
    steps * step +
    prefillTokens * calibration.prefillMsPerToken +
    attentionMs;
  const after = Math.min(sequences + waiting + 1, replica.maxSequences);
  const tokensAfter = Math.min(
    resident + replica.waitingPromptTokens + demand.promptTokens + demand.outputTokens / 2,
    replica.kvCapacityTokens,
  );
  const prefillShare = Math.min(replica.prefillTokensPerMs * calibration.prefillMsPerToken, MAX_PREFILL_SHARE);
  out.tpotMs = stepMs(replica, after, tokensAfter) / (1 - prefillShare);
}

/**
 * Time in ms until enough running sequences have ended, so that there is a sequence slot and cache space for this
 * request.
 */
function slotWaitMs(replica: ReplicaState, demand: Demand, step: number): number {
  const sequences = replica.sequences;
  if (sequences === 0) return 0;
  const ahead = replica.waiting + 1;
  const missingSlots = sequences + ahead - replica.maxSequences;
  const missingTokens =
    replica.residentTokens + replica.waitingPromptTokens + demand.promptTokens - replica.kvCapacityTokens;
  if (missingSlots <= 0 && missingTokens <= 0) return 0;
  // Decoding sequences are assumed to end at an even rate over the time of the mean remaining output.
  const meanRemainingMs = (replica.remainingOutputTokens / sequences) * step;
  const slotShare = Math.max(missingSlots, 0) / sequences;
  const tokenShare = Math.max(missingTokens, 0) / Math.max(replica.residentTokens, 1);
  return meanRemainingMs * Math.max(slotShare, tokenShare);
}
