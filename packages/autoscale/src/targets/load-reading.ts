/** The load of an endpoint at an instant, over all gateways that report. */
export interface LoadReading {
  /** Requests that replicas have. */
  readonly running: number;
  /** Those of them that replicas have not begun, as far as replicas say. */
  readonly queued: number;
  /** Requests that wait in a gateway for a first replica. */
  readonly held: number;
  readonly requestsPerSecond: number;
  /** Time since the last request began or ended. */
  readonly idleMs: number;
  /** Latencies of the last minute; `null`: too few requests. */
  readonly ttft: Quantiles | null;
  readonly tpot: Quantiles | null;
}

export interface Quantiles {
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/** Whether all figures are possible, each by itself and together. */
export function isSound({ ttft, tpot, ...numbers }: LoadReading): boolean {
  const all = [...Object.values(numbers), ...[ttft, tpot].flatMap((each) => (each === null ? [] : quantilesOf(each)))];
  if (!all.every((value) => Number.isFinite(value) && value >= 0)) return false;
  return [ttft, tpot].every((each) => each === null || each.p95Ms <= each.p99Ms);
}

const quantilesOf = ({ p95Ms, p99Ms }: Quantiles): readonly number[] => [p95Ms, p99Ms];
