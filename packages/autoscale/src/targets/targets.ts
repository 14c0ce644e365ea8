/** Targets of an endpoint, as its operator states them. `null`: no target. */
export interface Targets {
  /** Requests in progress for each replica. */
  readonly concurrency: number | null;
  readonly requestsPerSecond: number | null;
  readonly queueTimeMs: number | null;
  readonly ttft: Latency | null;
  readonly tpot: Latency | null;
  /** Values of metric sources. */
  readonly metrics: readonly MetricTarget[];
  readonly idleToZeroMs: number | null;
  readonly downAfterMs: number;
}

export interface Latency {
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

export interface MetricTarget {
  readonly name: string;
  /** `null`: the only source that has the value. */
  readonly source: string | null;
  /** `perReplica`: an amount that replicas share. `level`: a level that falls when replicas are added. */
  readonly kind: "perReplica" | "level";
  readonly target: number;
}

/** Whether readings of gateways decide nothing but when no replica is left. */
export const followsMetricsAlone = (targets: Targets): boolean =>
  targets.metrics.length > 0 &&
  [targets.concurrency, targets.requestsPerSecond, targets.queueTimeMs, targets.ttft, targets.tpot].every(
    (target) => target === null,
  );
