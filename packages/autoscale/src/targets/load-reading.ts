import type { LatencyQuantiles } from "../contract.ts";

/** The load of an endpoint at an instant, over all gateways that report. */
export interface LoadReading {
  /** Time of the newest report. A reading of the same time has nothing new. */
  readonly atMs: number;
  /** Requests that replicas have. */
  readonly running: number;
  /** Those of them that replicas have not begun, as far as replicas say. */
  readonly queued: number;
  /** Requests that wait in a gateway for a first replica. */
  readonly held: number;
  readonly requestsPerSecond: number;
  /** Requests that arrived since gateways reported first; held ones are in it. A smaller number than before begins again. */
  readonly arrived: number;
  /** Time since the last request began or ended. */
  readonly idleMs: number;
  /** Latencies of the last minute; `null`: too few requests. */
  readonly ttft: LatencyQuantiles | null;
  readonly tpot: LatencyQuantiles | null;
  /** `null`: a gateway does not report tokens. */
  readonly tokens: TokenReading | null;
}

/** Tokens of an endpoint, counted like `arrived`. */
export interface TokenReading {
  /** Prompt tokens of the requests that arrived, which gateways estimate from their bytes. */
  readonly prompt: number;
  /** Output tokens of the requests that ended, and the number of these. */
  readonly output: number;
  readonly ended: number;
  /** Time to the first token for each prompt token, below which a tenth of the last minute's requests were; `null`: too few. */
  readonly promptTokenMs: number | null;
}

/** Whether all figures are possible, each by itself and together. */
export function isSound({ ttft, tpot, tokens, ...numbers }: LoadReading): boolean {
  const all = [...Object.values(numbers), ...[ttft, tpot].flatMap((each) => (each === null ? [] : quantilesOf(each)))];
  if (tokens !== null) all.push(tokens.prompt, tokens.output, tokens.ended, tokens.promptTokenMs ?? 0);
  if (!all.every((value) => Number.isFinite(value) && value >= 0)) return false;
  return [ttft, tpot].every((each) => each === null || (each.p50Ms <= each.p95Ms && each.p95Ms <= each.p99Ms));
}

const quantilesOf = (all: LatencyQuantiles): readonly number[] => Object.values(all);

/** Share of the requests whose latency exceeded a limit, by the quantiles and lines between their logarithms. */
export function lateShare({ p50Ms, p95Ms, p99Ms }: LatencyQuantiles, limitMs: number): number {
  if (limitMs >= p99Ms) return 0;
  const between = (low: number, high: number, fromShare: number, toShare: number): number => {
    const at = Math.log(limitMs / Math.max(1e-3, low)) / Math.max(1e-9, Math.log(high / Math.max(1e-3, low)));
    return fromShare + Math.min(1, Math.max(0, at)) * (toShare - fromShare);
  };
  if (limitMs >= p95Ms) return between(p95Ms, p99Ms, 0.05, 0.01);
  if (limitMs >= p50Ms) return between(p50Ms, p95Ms, 0.5, 0.05);
  return between(p50Ms / 2, p50Ms, 1, 0.5);
}
