/**
 * Latencies of the streams that ended in the last minute, for the control plane. The memory is fixed: with more streams
 * than fit, the newest count.
 */
const WINDOW_MS = 60_000;
const STREAMS_MAX = 2_048;

export interface LatencyFigures {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly requests: number;
}

export class RecentLatencies {
  readonly #endedAtMs = new Float64Array(STREAMS_MAX);
  readonly #firstTokenMs = new Float64Array(STREAMS_MAX);
  /** NaN: the answer had one token. */
  readonly #perTokenMs = new Float64Array(STREAMS_MAX);
  #count = 0;

  observe(stream: { readonly endedAtMs: number; readonly firstTokenMs: number; readonly perTokenMs: number }): void {
    const at = this.#count % STREAMS_MAX;
    this.#endedAtMs[at] = stream.endedAtMs;
    this.#firstTokenMs[at] = stream.firstTokenMs;
    this.#perTokenMs[at] = stream.perTokenMs;
    this.#count++;
  }

  firstToken(nowMs: number): LatencyFigures | null {
    return this.#figures(this.#firstTokenMs, nowMs);
  }

  perToken(nowMs: number): LatencyFigures | null {
    return this.#figures(this.#perTokenMs, nowMs);
  }

  #figures(values: Float64Array, nowMs: number): LatencyFigures | null {
    const sorted: number[] = [];
    for (let at = 0; at < Math.min(this.#count, STREAMS_MAX); at++)
      if (this.#endedAtMs[at]! > nowMs - WINDOW_MS && values[at]! >= 0) sorted.push(values[at]!);
    if (sorted.length === 0) return null;
    sorted.sort((left, right) => left - right);
    const quantile = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
    return { p50Ms: quantile(0.5), p95Ms: quantile(0.95), p99Ms: quantile(0.99), requests: sorted.length };
  }
}
