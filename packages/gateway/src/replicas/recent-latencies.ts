/**
 * Latencies of the streams that ended in the last minute, for the control plane. The memory is fixed: with more streams
 * than fit, the newest count.
 */
const WINDOW_MS = 60_000;
const STREAMS_MAX = 2_048;
/** Part of the streams that waited least. */
const QUICK_SHARE = 0.1;
/** Fewer streams may all have been in a cache. */
const QUICK_STREAMS_MIN = 20;

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
  readonly #perPromptTokenMs = new Float64Array(STREAMS_MAX);
  #count = 0;

  observe(stream: {
    readonly endedAtMs: number;
    readonly firstTokenMs: number;
    readonly perTokenMs: number;
    /** Those that were in no cache. */
    readonly promptTokens: number;
  }): void {
    const at = this.#count % STREAMS_MAX;
    this.#endedAtMs[at] = stream.endedAtMs;
    this.#firstTokenMs[at] = stream.firstTokenMs;
    this.#perTokenMs[at] = stream.perTokenMs;
    this.#perPromptTokenMs[at] = stream.firstTokenMs / Math.max(1, stream.promptTokens);
    this.#count++;
  }

  firstToken(nowMs: number): LatencyFigures | null {
    return this.#figures(this.#firstTokenMs, nowMs);
  }

  perToken(nowMs: number): LatencyFigures | null {
    return this.#figures(this.#perTokenMs, nowMs);
  }

  /** Time to the first token for each prompt token of the streams that waited least; `null`: too few. */
  perPromptToken(nowMs: number): number | null {
    const sorted = this.#recent(this.#perPromptTokenMs, nowMs);
    return sorted.length < QUICK_STREAMS_MIN ? null : (sorted[Math.floor(QUICK_SHARE * sorted.length)] ?? null);
  }

  #figures(values: Float64Array, nowMs: number): LatencyFigures | null {
    const sorted = this.#recent(values, nowMs);
    if (sorted.length === 0) return null;
    const quantile = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
    return { p50Ms: quantile(0.5), p95Ms: quantile(0.95), p99Ms: quantile(0.99), requests: sorted.length };
  }

  #recent(values: Float64Array, nowMs: number): readonly number[] {
    const recent: number[] = [];
    for (let at = 0; at < Math.min(this.#count, STREAMS_MAX); at++)
      if (this.#endedAtMs[at]! > nowMs - WINDOW_MS && values[at]! >= 0) recent.push(values[at]!);
    return recent.toSorted((left, right) => left - right);
  }
}
