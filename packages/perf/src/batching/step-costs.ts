/** Work of one step of one engine. The kernel reuses one object: read it before the next step. */
export interface StepLoad {
  /** Sequences that decode one token. */
  decodeSequences: number;
  /** Tokens that they attend to, summed over the sequences. */
  contextTokens: number;
  promptTokens: number;
  /** Pairs of a prompt token and a token that it attends to. */
  promptPairs: number;
  /** Prompts whose last token is in the step: each yields a first token. */
  promptsEnding: number;
}

/**
 * Coefficients of the time of a step, ms:
 *
 *     tokensMs[decodeSequences + promptTokens] + contextMs x contextTokens + pairMs x promptPairs
 *       + sampledMs x (decodeSequences + promptsEnding)
 *
 * The table holds everything that depends on the number of tokens alone (matrices, experts, communication, launches),
 * so that any model of a step fits into it; attention is linear in what it reads.
 */
export interface StepCosts {
  /** Time by number of tokens, ms, from 0 to the most that a step takes. */
  readonly tokensMs: Float64Array;
  readonly contextMs: number;
  readonly pairMs: number;
  readonly sampledMs: number;
}

/** Time of a step, ms. */
export function stepMs(costs: StepCosts, load: StepLoad): number {
  const tokens = load.decodeSequences + load.promptTokens;
  return (
    (costs.tokensMs[tokens] ?? Number.NaN) +
    costs.contextMs * load.contextTokens +
    costs.pairMs * load.promptPairs +
    costs.sampledMs * (load.decodeSequences + load.promptsEnding)
  );
}

/** Token counts at which a table is sampled: every one up to 64, then 32 an octave. */
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

/** A table of `tokensMax + 1` times from a function sampled at some two hundred counts, with linear interpolation. */
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
