/** Targets of an endpoint, as its operator states them. `null`: no target. */
export interface Targets {
  /** Requests in progress for each replica. */
  readonly concurrency: number | null;
  readonly requestsPerSecond: number | null;
  readonly queueTimeMs: number | null;
  readonly ttft: Latency | null;
  readonly tpot: Latency | null;
  readonly idleToZeroMs: number | null;
  readonly downAfterMs: number;
}

export interface Latency {
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}
