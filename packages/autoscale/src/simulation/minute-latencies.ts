/** Latencies of the requests that ended in the last minute, as gateways report them: with more than fit, the newest count. */
import type { LatencyQuantiles, RecentLatencies } from "../contract.ts";

const WINDOW_MS = 60_000;
const REQUESTS_MAX = 2_048;
/** Part of the requests whose time for each prompt token is below the reported one. */
const QUICK_SHARE = 0.1;

export class MinuteLatencies {
  readonly #endedAtMs = new Float64Array(REQUESTS_MAX).fill(-Infinity);
  readonly #ttftMs = new Float64Array(REQUESTS_MAX);
  readonly #tpotMs = new Float64Array(REQUESTS_MAX);
  readonly #promptTokenMs = new Float64Array(REQUESTS_MAX);
  #next = 0;

  add(request: {
    readonly endedAtMs: number;
    readonly ttftMs: number;
    readonly tpotMs: number;
    readonly promptTokens: number;
  }): void {
    const { endedAtMs, ttftMs, tpotMs, promptTokens } = request;
    this.#promptTokenMs[this.#next] = ttftMs / Math.max(1, promptTokens);
    this.#endedAtMs[this.#next] = endedAtMs;
    this.#ttftMs[this.#next] = ttftMs;
    this.#tpotMs[this.#next] = tpotMs;
    this.#next = (this.#next + 1) % REQUESTS_MAX;
  }

  quantiles(nowMs: number): RecentLatencies | null {
    const isRecent = (_: number, at: number): boolean => (this.#endedAtMs[at] ?? -Infinity) > nowMs - WINDOW_MS;
    const ttft = this.#ttftMs.filter(isRecent).toSorted();
    if (ttft.length === 0) return null;
    const perPromptToken = this.#promptTokenMs.filter(isRecent).toSorted();
    return {
      ttft: quantilesOf(ttft),
      tpot: quantilesOf(this.#tpotMs.filter(isRecent).toSorted()),
      promptTokenMs: perPromptToken[Math.floor(QUICK_SHARE * perPromptToken.length)] ?? 0,
    };
  }
}

function quantilesOf(sorted: Float64Array): LatencyQuantiles {
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), requests: sorted.length };
}
