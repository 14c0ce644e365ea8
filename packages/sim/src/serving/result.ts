import type { PrefixPages } from "./page-store.ts";
import type { SimulatedReplica } from "./replica.ts";
import type { RequestTimes } from "./request-times.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { ServingVariant } from "./variant.ts";

/** Mean and percentiles (nearest rank) of a metric. */
export interface Distribution {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
}

/** Results of one variant. Times are in ms, shares from 0 to 1. */
export interface ServingResult {
  readonly variant: string;
  readonly router: string;
  readonly requests: number;
  /** Number of requests that are too long for the cache of every replica. They count as missing the objectives. */
  readonly refused: number;
  /** Number of requests that arrived before a replica was ready. */
  readonly held: number;
  readonly ttft_ms: Distribution;
  readonly tpot_ms: Distribution;
  readonly latency_ms: Distribution;
  /**
   * Share of requests that met both latency objectives; the following fields are the shares that met each objective.
   */
  readonly slo_share: number;
  readonly slo_ttft_share: number;
  readonly slo_tpot_share: number;
  readonly makespan_s: number;
  readonly accelerators: number;
  readonly accelerator_hours: number;
  readonly output_tokens_per_s: number;
  /** Share of the replicas' time in which they computed steps. */
  readonly busy_share: number;
  /** Share of prompt tokens that were found in a cache instead of computed. */
  readonly prompt_hit_share: number;
  /**
   * Share of prefix pages found in an engine's cache; the following field: in the external store. Absent if no request
   * has pages.
   */
  readonly page_hit_share?: number;
  readonly store_hit_share?: number;
  readonly preemptions: number;
  readonly adapter_loads: number;
  readonly steps: number;
}

export interface ResultInput {
  readonly trace: RequestTrace;
  readonly variant: ServingVariant;
  readonly times: RequestTimes;
  readonly replicas: readonly SimulatedReplica[];
  readonly store: PrefixPages | undefined;
  readonly endMs: number;
  readonly refusedCount: number;
  readonly heldCount: number;
}

export function distribution(values: Float64Array): Distribution {
  const sorted = values.toSorted();
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  let sum = 0;
  for (const value of values) sum += value;
  return { mean: sum / Math.max(1, values.length), p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}

interface Latencies {
  readonly ttftMs: Float64Array;
  readonly tpotMs: Float64Array;
  readonly latencyMs: Float64Array;
  readonly metCount: number;
  readonly ttftMetCount: number;
  readonly tpotMetCount: number;
}

function latencies({ trace, times, variant }: ResultInput): Latencies {
  const count = trace.requests.length;
  const ttftMs = new Float64Array(count);
  const tpotMs = new Float64Array(count);
  const latencyMs = new Float64Array(count);
  let answered = 0;
  let decoding = 0;
  const met = { metCount: 0, ttftMetCount: 0, tpotMetCount: 0 };
  for (const [id, { arrivalMs, outputTokens, slo = variant.slo }] of trace.requests.entries()) {
    const endMs = times.endMs[id] ?? Number.NaN;
    if (Number.isNaN(endMs)) continue;
    const firstMs = times.firstTokenMs[id] ?? endMs;
    const ttft = firstMs - arrivalMs;
    const tpot = outputTokens > 1 ? (endMs - firstMs) / (outputTokens - 1) : 0;
    ttftMs[answered] = ttft;
    latencyMs[answered] = endMs - arrivalMs;
    answered += 1;
    if (outputTokens > 1) {
      tpotMs[decoding] = tpot;
      decoding += 1;
    }
    met.ttftMetCount += Number(ttft <= slo.ttftMs);
    met.tpotMetCount += Number(tpot <= slo.tpotMs);
    met.metCount += Number(ttft <= slo.ttftMs && tpot <= slo.tpotMs);
  }
  const ends = { ttftMs: ttftMs.subarray(0, answered), latencyMs: latencyMs.subarray(0, answered) };
  return { ...ends, tpotMs: tpotMs.subarray(0, decoding), ...met };
}

interface ServingTotals {
  steps: number;
  preemptions: number;
  outputTokens: number;
  promptTokens: number;
  promptTokensHit: number;
  pagesAsked: number;
  pagesHit: number;
  busyMs: number;
  adapterLoads: number;
  accelerators: number;
}

function totalsOf(replicas: readonly SimulatedReplica[]): ServingTotals {
  const sums: ServingTotals = {
    steps: 0,
    preemptions: 0,
    outputTokens: 0,
    promptTokens: 0,
    promptTokensHit: 0,
    pagesAsked: 0,
    pagesHit: 0,
    busyMs: 0,
    adapterLoads: 0,
    accelerators: 0,
  };
  for (const { engine, adapterLoads, group } of replicas) {
    const { totals } = engine.kernel;
    for (const name of ["steps", "preemptions", "outputTokens", "promptTokens", "promptTokensHit"] as const) {
      sums[name] += totals[name];
    }
    sums.pagesAsked += totals.pagesAsked;
    sums.pagesHit += totals.pagesHit;
    sums.busyMs += engine.busyMs;
    sums.adapterLoads += adapterLoads;
    sums.accelerators += group.acceleratorsPerReplica;
  }
  return sums;
}

export function servingResult(input: ResultInput): ServingResult {
  const { trace, variant, replicas, store, endMs } = input;
  const { ttftMs, tpotMs, latencyMs, metCount, ttftMetCount, tpotMetCount } = latencies(input);
  const totals = totalsOf(replicas);
  const requests = Math.max(1, trace.requests.length);
  const seconds = endMs / 1000;
  return {
    variant: variant.name,
    router: variant.router,
    requests: trace.requests.length,
    refused: input.refusedCount,
    held: input.heldCount,
    ttft_ms: distribution(ttftMs),
    tpot_ms: distribution(tpotMs),
    latency_ms: distribution(latencyMs),
    slo_share: metCount / requests,
    slo_ttft_share: ttftMetCount / requests,
    slo_tpot_share: tpotMetCount / requests,
    makespan_s: seconds,
    accelerators: totals.accelerators,
    accelerator_hours: (totals.accelerators * seconds) / 3600,
    output_tokens_per_s: seconds > 0 ? totals.outputTokens / seconds : 0,
    busy_share: endMs > 0 ? totals.busyMs / (endMs * replicas.length) : 0,
    prompt_hit_share: totals.promptTokens > 0 ? totals.promptTokensHit / totals.promptTokens : 0,
    ...(totals.pagesAsked > 0 ? { page_hit_share: totals.pagesHit / totals.pagesAsked } : {}),
    ...(store !== undefined && store.asked > 0 ? { store_hit_share: store.hits / store.asked } : {}),
    preemptions: totals.preemptions,
    adapter_loads: totals.adapterLoads,
    steps: totals.steps,
  };
}
