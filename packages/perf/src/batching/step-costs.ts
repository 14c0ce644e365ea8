/** Work of one step of one engine. The kernel reuses the object, so it must be read before the next step. */
export interface StepLoad {
  /** Number of sequences that decode one token. */
  decodeSequences: number;
  /** Number of tokens that decoding sequences attend to, summed over the sequences. */
  contextTokens: number;
  promptTokens: number;
  /** Number of pairs of a prompt token and a token that the prompt token attends to. */
  promptPairs: number;
  /** Number of prompts whose last token is in the step. Each of these prompts yields a first output token. */
  promptsEnding: number;
}

/**
 * Coefficients of the time of a step in ms:
 *
 * tokensMs[decodeSequences + promptTokens] + contextMs x contextTokens + pairMs x promptPairs + sampledMs x
 * (decodeSequences + promptsEnding)
 *
 * The table `tokensMs` contains all time that depends only on the number of tokens (matrices, experts, communication,
 * launches). It can express any such dependence. The time of attention is linear in the number of tokens that it reads.
 */
export interface StepCosts {
  /** Time in ms by number of tokens, from 0 to the maximum of a step. */
  readonly tokensMs: Float64Array;
  readonly contextMs: number;
  readonly pairMs: number;
  readonly sampledMs: number;
}

/** Time of a step in ms. */
export function stepMs(costs: StepCosts, load: StepLoad): number {
  const tokens = load.decodeSequences + load.promptTokens;
  return (
    (costs.tokensMs[tokens] ?? Number.NaN) +
    costs.contextMs * load.contextTokens +
    costs.pairMs * load.promptPairs +
    costs.sampledMs * (load.decodeSequences + load.promptsEnding)
  );
}

/** Numbers of tokens at which a table is sampled: every number up to 64, then 32 numbers for each doubling. */
function sampledCounts(tokensMax: number): number[] {
  const counts: number[] = [];
  let count = 0;
  while (count < tokensMax) {
    counts.push(count);
    count += Math.max(1, 2 ** Math.floor(Math.log2(Math.max(1, count)) - 5));
  }
  counts.push(tokensMax);
  return counts;
}

/**
 * Table of the times for 0 to `tokensMax` tokens. The function is called for about two hundred numbers of tokens; times
 * between them are interpolated linearly.
 */
export function tabulated(tokensMax: number, timeMs: (tokens: number) => number): Float64Array {
  const table = new Float64Array(tokensMax + 1);
  const counts = sampledCounts(tokensMax);
  let from = 0;
  let fromMs = timeMs(0);
  table[0] = fromMs;
  for (const to of counts) {
    const toMs = timeMs(to);
    for (let tokens = from + 1; tokens <= to; tokens += 1) {
      table[tokens] = fromMs + ((toMs - fromMs) * (tokens - from)) / (to - from);
    }
    from = to;
    fromMs = toMs;
  }
  return table;
}
