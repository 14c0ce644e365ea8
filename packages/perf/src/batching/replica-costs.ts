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
 * Step time of this replica by the performance model, as coefficients. Attention and sampling are slopes around the
 * given mean context. A model with attention windows or sparse selection reads less of a longer context; the slope is
 * then that at the mean. Requests of all attention ranks of a replica count together.
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
  // Time of output head and host work per sequence: the difference between equal numbers of tokens with and without
  // sampling.
  const sampledMs = Math.max(0, (bare - totalMs({ promptTokens: sequences })) / sequences);
  return {
    tokensMs: tabulated(tokensMax, (tokens) => totalMs({ promptTokens: tokens })),
    contextMs,
    pairMs,
    sampledMs,
  };
}

/** Limits of a replica whose cache gets the memory that the weights leave; `tokens`: a usual length of a sequence. */
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
