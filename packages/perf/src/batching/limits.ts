/**
 * Limits of one engine: the maximum numbers of sequences and tokens of a step, and the KV cache that the sequences
 * share.
 */
export interface BatchingLimits {
  /** Maximum number of running sequences (vLLM's `max_num_seqs`). */
  readonly sequencesMax: number;
  /** Maximum number of tokens of one step, decoding and prompt tokens together (`max_num_batched_tokens` of vLLM). */
  readonly stepTokensMax: number;
  /** Number of tokens of one KV block. */
  readonly blockTokens: number;
  /** Number of KV blocks of the engine. */
  readonly blockCount: number;
  /** If true, a prompt can be split over several steps. If false, a prompt waits for a step that can take all of it. */
  readonly isPromptChunked: boolean;
  /** If true, blocks of ended and preempted sequences stay readable until they are allocated again. */
  readonly isPrefixCached: boolean;
  /**
   * Blocks that must be free before a prompt starts: the blocks of its first chunk, or the blocks of all its tokens.
   */
  readonly admission: "firstChunk" | "wholePrompt";
  /** Number of blocks that must stay free for running sequences when a prompt starts. */
  readonly watermarkBlocks: number;
}

/**
 * Default limits of vLLM 0.19 as an online server (`scheduler_reserve_full_isl` is on). The caller adds the size of the
 * cache.
 */
export const usualLimits: Omit<BatchingLimits, "blockCount"> = {
  sequencesMax: 256,
  stepTokensMax: 2048,
  blockTokens: 16,
  isPromptChunked: true,
  isPrefixCached: true,
  admission: "wholePrompt",
  watermarkBlocks: 0,
};

/** Returns the message for the first invalid limit, or `undefined` if all limits are valid. */
export function limitProblem(limits: BatchingLimits): string | undefined {
  const whole = ["sequencesMax", "stepTokensMax", "blockTokens", "blockCount"] as const;
  const wrong = whole.find((name) => !Number.isSafeInteger(limits[name]) || limits[name] < 1);
  if (wrong !== undefined) return `${wrong} is ${limits[wrong]}: it must be a whole number from 1`;
  if (limits.sequencesMax > limits.stepTokensMax) {
    return `sequencesMax is ${limits.sequencesMax}: a step of ${limits.stepTokensMax} tokens cannot move all of them on`;
  }
  if (!(limits.watermarkBlocks >= 0 && limits.watermarkBlocks < limits.blockCount)) {
    return `watermarkBlocks is ${limits.watermarkBlocks}: it must lie between 0 and blockCount`;
  }
  return undefined;
}
