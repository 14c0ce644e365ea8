/** Limits of one engine: how many sequences and tokens a step takes, and the KV cache that sequences share. */
export interface BatchingLimits {
  /** Maximum number of running sequences (vLLM's `max_num_seqs`). */
  readonly sequencesMax: number;
  /** Maximum number of tokens of one step, decoding and prompt tokens together (vLLM's `max_num_batched_tokens`). */
  readonly stepTokensMax: number;
  /** Tokens of one KV block. */
  readonly blockTokens: number;
  /** KV blocks that the engine owns. */
  readonly blockCount: number;
  /** True: prompts are split over steps. False: a prompt waits for a step with capacity for all of it. */
  readonly isPromptChunked: boolean;
  /** True: blocks of ended and preempted sequences stay readable until they are allocated again. */
  readonly isPrefixCached: boolean;
  /** Blocks that must be free before a prompt starts: those of its first chunk, or of all its tokens. */
  readonly admission: "firstChunk" | "wholePrompt";
  /** Blocks that admission leaves free for running sequences. */
  readonly watermarkBlocks: number;
}

/** Defaults of vLLM 0.19 for an online server (`scheduler_reserve_full_isl` is on), with the cache left to the caller. */
export const usualLimits: Omit<BatchingLimits, "blockCount"> = {
  sequencesMax: 256,
  stepTokensMax: 2048,
  blockTokens: 16,
  isPromptChunked: true,
  isPrefixCached: true,
  admission: "wholePrompt",
  watermarkBlocks: 0,
};

/** The message for the first invalid limit; `undefined`: all are valid. */
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
