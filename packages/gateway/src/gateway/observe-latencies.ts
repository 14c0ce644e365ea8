/** Latencies of ended streams, for the pool that served them. */
import type { ExchangeSummary } from "../exchange/runtime.ts";
import type { Pool } from "../replicas/pool.ts";

/** Streams that did not complete say nothing. */
export function observeLatencies(
  pool: Pool | undefined,
  { record, replicaId, decision, startedAtMs, firstByteAtMs, endedAtMs, isStream }: ExchangeSummary,
): void {
  if (!isStream || firstByteAtMs === 0 || record.outcome !== "completed") return;
  const perTokenMs =
    record.completionTokens > 1 ? (endedAtMs - firstByteAtMs) / (record.completionTokens - 1) : Number.NaN;
  const firstTokenMs = firstByteAtMs - startedAtMs;
  pool?.latencies.observe({ endedAtMs, firstTokenMs, perTokenMs });
  if (pool?.split === undefined) return;
  // A replica that does not report its cache is trusted to have what the router expects there.
  const cachedTokens = record.cachedTokens > 0 ? record.cachedTokens : (decision?.cachedTokens ?? 0);
  pool.split.observe({
    replicaId,
    firstTokenMs,
    perTokenMs,
    uncachedTokens: record.promptTokens - cachedTokens,
    busyCount: 1 + (pool.replicas.get(replicaId)?.requestCount ?? 0),
  });
}
