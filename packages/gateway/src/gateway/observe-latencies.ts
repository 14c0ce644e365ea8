/** Latencies of ended streams, for the pool that served them. */
import type { ExchangeSummary } from "../exchange/runtime.ts";
import type { Pool } from "../replicas/pool.ts";

/** Requests that did not complete say nothing, and only streams have latencies. */
export function observeLatencies(
  pool: Pool | undefined,
  { record, replicaId, decision, startedAtMs, firstByteAtMs, endedAtMs, isStream }: ExchangeSummary,
): void {
  if (record.outcome !== "completed") return;
  if (pool !== undefined && record.completionTokens > 0) {
    pool.tokens.output += record.completionTokens;
    pool.tokens.ended++;
  }
  if (!isStream || firstByteAtMs === 0) return;
  const perTokenMs =
    record.completionTokens > 1 ? (endedAtMs - firstByteAtMs) / (record.completionTokens - 1) : Number.NaN;
  const firstTokenMs = firstByteAtMs - startedAtMs;
  // A replica that does not report its cache is trusted to have what the router expects there.
  const cachedTokens = record.cachedTokens > 0 ? record.cachedTokens : (decision?.cachedTokens ?? 0);
  const promptTokens = record.promptTokens - cachedTokens;
  pool?.latencies.observe({ endedAtMs, firstTokenMs, perTokenMs, promptTokens });
  if (pool?.split === undefined) return;
  pool.split.observe({
    replicaId,
    firstTokenMs,
    perTokenMs,
    uncachedTokens: promptTokens,
    busyCount: 1 + (pool.replicas.get(replicaId)?.requestCount ?? 0),
  });
}
