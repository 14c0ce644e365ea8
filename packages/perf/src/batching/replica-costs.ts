import type { InferenceConstants } from "../constants-inference.ts";
import { stepTime } from "../inference/forward.ts";
import type { StepWork } from "../inference/forward.ts";
import { sequenceKvBytes, servingMemory } from "../inference/kv-cache.ts";
import type { BuiltReplica } from "../inference/replica.ts";
import { usualLimits } from "./limits.ts";
import type { BatchingLimits } from "./limits.ts";
import { tabulated } from "./step-costs.ts";
import type { StepCosts } from "./step-costs.ts";

const nothing: StepWork = {
  decodeSequences: 0,
  decodeContext: 0,
  promptTokens: 0,
  promptContext: 0,
  promptsEnding: 0,
};

/**
 * Coefficients of the step time of this replica, computed with the performance model. Attention is taken as linear in
 * the context, with the slope from 0 to `meanContext`. For a model with attention windows or sparse selection, which
 * reads only a part of a longer context, the slope is therefore exact only at the mean. The requests of all attention
 * ranks of a replica count together.
 */
export function replicaCosts(replica: BuiltReplica, k: InferenceConstants, meanContext: number): StepCosts {
  const totalMs = (work: Partial<StepWork>): number => stepTime(replica, { ...nothing, ...work }, k).totalMs;
  const tokensMax = replica.engine.stepTokensMax * replica.layout.attentionData;
  const sequences = Math.min(64, replica.engine.sequencesMax);
  const bare = totalMs({ decodeSequences: sequences });
  const contextMs =
    (totalMs({ decodeSequences: sequences, decodeContext: meanContext }) - bare) / (sequences * meanContext);
  const prompt = { promptTokens: tokensMax };
  const promptBare = totalMs(prompt);
  const pairMs = (totalMs({ ...prompt, promptContext: meanContext }) - promptBare) / (tokensMax * meanContext);
  // Time of the output head and of host work for each sequence. It is the difference between a step that samples and a
  // step with the same number of tokens that does not.
  const sampledMs = Math.max(0, (bare - totalMs({ promptTokens: sequences })) / sequences);
  return {
    tokensMs: tabulated(tokensMax, (tokens) => totalMs({ promptTokens: tokens })),
    contextMs,
    pairMs,
    sampledMs,
  };
}

/**
 * Limits of a replica, with all memory that the weights leave used for the KV cache. `tokens`: usual length of a
 * sequence.
 */
export function replicaLimits(replica: BuiltReplica, tokens: number): BatchingLimits {
  const { attentionData } = replica.layout;
  const perToken = sequenceKvBytes(replica, tokens) / tokens;
  const tokensKept = (servingMemory(replica).kvCacheBytes / perToken) * attentionData;
  const stepTokensMax = replica.engine.stepTokensMax * attentionData;
  return {
    ...usualLimits,
    stepTokensMax,
    sequencesMax: Math.min(replica.engine.sequencesMax * attentionData, stepTokensMax),
    blockCount: Math.max(1, Math.floor(tokensKept / usualLimits.blockTokens)),
  };
}
