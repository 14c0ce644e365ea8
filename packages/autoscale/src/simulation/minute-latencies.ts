/** Latencies of the requests that ended in the last minute, as gateways report them: with more than fit, the newest count. */
import type { LatencyQuantiles } from "../contract.ts";

const WINDOW_MS = 60_000;
const REQUESTS_MAX = 2_048;

export class MinuteLatencies {
  readonly #endedAtMs = new Float64Array(REQUESTS_MAX).fill(-Infinity);
  readonly #ttftMs = new Float64Array(REQUESTS_MAX);
  readonly #tpotMs = new Float64Array(REQUESTS_MAX);
  #next = 0;

  add(endedAtMs: number, ttftMs: number, tpotMs: number): void {
    this.#endedAtMs[this.#next] = endedAtMs;
    this.#ttftMs[this.#next] = ttftMs;
    this.#tpotMs[this.#next] = tpotMs;
    this.#next = (this.#next + 1) % REQUESTS_MAX;
  }

  quantiles(nowMs: number): { readonly ttft: LatencyQuantiles; readonly tpot: LatencyQuantiles } | null {
    const isRecent = (_: number, at: number): boolean => (this.#endedAtMs[at] ?? -Infinity) > nowMs - WINDOW_MS;
    const ttft = this.#ttftMs.filter(isRecent).toSorted();
    if (ttft.length === 0) return null;
    return { ttft: quantilesOf(ttft), tpot: quantilesOf(this.#tpotMs.filter(isRecent).toSorted()) };
  }
}

function quantilesOf(sorted: Float64Array): LatencyQuantiles {
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), requests: sorted.length };
}
