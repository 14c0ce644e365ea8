/** Bounds of an agent: how often it calls, how much it sends, and how much it gets. */

/** Calls at once after a pause, and calls per second in the long run. */
const BURST_MAX = 60;
const CALLS_PER_S = 2;
/** Calls that wait for an answer at the same time. */
const OPEN_CALLS_MAX = 4;
/** Maximum size of the arguments of a call, as JSON. */
export const ARGUMENT_CHARS_MAX = 16_384;
/** Maximum size of an answer: an agent's context is small, and a page of a list fits. */
export const ANSWER_CHARS_MAX = 65_536;
/** Entries of a list for which the call states no limit. */
export const LISTED_DEFAULT = 20;

export class CallBounds {
  readonly #nowMs: () => number;
  #left = BURST_MAX;
  #atMs: number;
  #open = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#atMs = nowMs();
  }

  /** The reason why a call is refused now; `null`: it may begin, and `end` must follow. */
  begin(): string | null {
    const nowMs = this.#nowMs();
    this.#left = Math.min(BURST_MAX, this.#left + (Math.max(0, nowMs - this.#atMs) * CALLS_PER_S) / 1000);
    this.#atMs = nowMs;
    if (this.#left < 1) return `Too many calls: at most ${CALLS_PER_S} a second in the long run. Wait a few seconds.`;
    if (this.#open >= OPEN_CALLS_MAX) return `${OPEN_CALLS_MAX} calls are open. Wait for their answers.`;
    this.#left--;
    this.#open++;
    return null;
  }

  end(): void {
    this.#open--;
  }
}
