/**
 * Tokens of a pool's requests since the start of the gateway, for reports of load. Prompts are counted when they are sent, by an
 * estimate from their bytes; the tokens that replicas report correct the estimates, because bytes of images say little.
 */

/** Largest amounts that one request adds. */
const PROMPT_TOKENS_MAX = 10_000_000;
const OUTPUT_TOKENS_MAX = 1_000_000;
/** Counts begin again above this number, below the largest one of a report. */
const COUNT_MAX = 1e11;
/** Part of the sums so far that stays with each request. */
const KEPT = 0.99;

export class TokenCounter {
  prompt = 0;
  output = 0;
  ended = 0;
  #estimated = 0;
  #reported = 0;

  /** `estimate`: prompt tokens by the bytes of the request, without those that are expected in a cache. */
  sent(estimate: number): void {
    this.prompt += Math.min(PROMPT_TOKENS_MAX, Math.max(0, estimate)) * this.#correction;
    if (this.prompt > COUNT_MAX) this.#beginAgain();
  }

  completed(request: {
    readonly estimate: number;
    readonly promptTokens: number;
    readonly outputTokens: number;
  }): void {
    this.#estimated = KEPT * this.#estimated + Math.max(0, request.estimate);
    this.#reported = KEPT * this.#reported + Math.min(PROMPT_TOKENS_MAX, Math.max(0, request.promptTokens));
    this.output += Math.min(OUTPUT_TOKENS_MAX, Math.max(0, request.outputTokens));
    this.ended++;
    if (this.output > COUNT_MAX) this.#beginAgain();
  }

  get #correction(): number {
    return this.#estimated > 0 ? Math.min(10, this.#reported / this.#estimated) : 1;
  }

  #beginAgain(): void {
    this.prompt = 0;
    this.output = 0;
    this.ended = 0;
  }
}
