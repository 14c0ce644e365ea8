/** How much traffic one replica serves within its objectives, from the coefficients of its step time. */
import type { BatchingLimits, StepCosts } from "@headroom/perf";

/** Traffic of an endpoint per second, and the usual lengths of its requests in tokens. */
export interface Traffic {
  readonly requestsPerS: number;
  readonly promptTokensPerS: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

export interface Objectives {
  readonly ttftMs: number;
  readonly tpotMs: number;
}

/** The part of the capacity that measures work. */
export type WorkModel = Pick<ReplicaCapacity, "promptTokenMs" | "replicasFilled">;

/** One millisecond for a token: the work of traffic of which nothing is known is corrected by the misses. */
export const nominalWork: WorkModel = { promptTokenMs: () => 1, replicasFilled: () => 0 };

export class ReplicaCapacity {
  readonly #costs: StepCosts;
  readonly #limits: BatchingLimits;
  readonly #objectives: Objectives;

  constructor(costs: StepCosts, limits: BatchingLimits, objectives: Objectives) {
    this.#costs = costs;
    this.#limits = limits;
    this.#objectives = objectives;
  }

  /** Time in ms that prompts of this length take per token in full steps, attention included. */
  promptTokenMs(promptTokens: number): number {
    const { tokensMs, pairMs } = this.#costs;
    const last = tokensMs.length - 1;
    return (tokensMs[last] ?? 1) / Math.max(1, last) + (pairMs * promptTokens) / 2;
  }

  /** Time in ms of a step that decodes one sequence of this length. */
  tokenMs({ promptTokens, outputTokens }: Traffic): number {
    return this.#decodeMs(1, promptTokens + outputTokens / 2);
  }

  /**
   * Share of its time that a replica needs for its part of the traffic when `replicas` (a positive number, not
   * necessarily whole) share it, with one step for decoding in each interval of the objective for the time per token.
   */
  utilization({ requestsPerS, promptTokensPerS, promptTokens, outputTokens }: Traffic, replicas: number): number {
    const { tpotMs } = this.#objectives;
    const prompts = (promptTokensPerS / replicas / 1000) * this.promptTokenMs(promptTokens);
    const sequences = ((requestsPerS * outputTokens) / replicas / 1000) * tpotMs;
    const context = promptTokens + outputTokens / 2;
    const decoding = sequences > 0 ? this.#decodeMs(sequences, context) / tpotMs : 0;
    const kept = (sequences * context) / (this.#limits.blockCount * this.#limits.blockTokens);
    return Math.max(prompts + Math.min(1, sequences) * decoding, kept, sequences / this.#limits.sequencesMax);
  }

  /** Number of replicas that the traffic fills completely, a real number. */
  replicasFilled(traffic: Traffic): number {
    if (!(traffic.requestsPerS > 0 || traffic.promptTokensPerS > 0)) return 0;
    let [low, high] = [1e-6, 1];
    while (this.utilization(traffic, high) > 1 && high < 1e6) [low, high] = [high, high * 2];
    for (let step = 0; step < 40; step += 1) {
      const middle = Math.sqrt(low * high);
      if (this.utilization(traffic, middle) > 1) low = middle;
      else high = middle;
    }
    return high;
  }

  #decodeMs(sequences: number, context: number): number {
    const { tokensMs, contextMs, sampledMs } = this.#costs;
    const count = Math.min(tokensMs.length - 1, Math.max(1, Math.ceil(sequences)));
    return (tokensMs[count] ?? 0) + sequences * (contextMs * context + sampledMs);
  }
}
