/** Latencies of ended streams, for the pool that served them. */
import type { AttemptNote } from "../exchange/attempt-note.ts";
import type { ExchangeSummary } from "../exchange/runtime.ts";
import type { Pool } from "../replicas/pool.ts";
import type { RolloutSplit } from "../replicas/rollout-split.ts";
import { isCacheUnknown } from "../shadow/unknown-cache.ts";

/**
 * Requests that did not complete say nothing, and only streams have latencies. `estimatedTokens`: prompt tokens by the bytes of the
 * request.
 */
export function observeLatencies(pool: Pool | undefined, summary: ExchangeSummary, estimatedTokens: number): void {
  const { record, replicaId, decision, attempts, startedAtMs, firstByteAtMs, endedAtMs, isStream } = summary;
  if (record.outcome !== "completed") return;
  // A replica that does not report its cache is trusted to have what the router expects there.
  const expectedTokens = decision?.cachedTokens ?? 0;
  const promptTokens = record.promptTokens - (record.cachedTokens > 0 ? record.cachedTokens : expectedTokens);
  if (record.completionTokens > 0)
    pool?.tokens.completed({
      estimate: estimatedTokens - expectedTokens,
      promptTokens,
      outputTokens: record.completionTokens,
    });
  if (!isStream || firstByteAtMs === 0) return;
  const perTokenMs =
    record.completionTokens > 1 ? (endedAtMs - firstByteAtMs) / (record.completionTokens - 1) : Number.NaN;
  const firstTokenMs = firstByteAtMs - startedAtMs;
  pool?.latencies.observe({ endedAtMs, firstTokenMs, perTokenMs, promptTokens });
  const sent = attempts.findLast((each) => each.replica === replicaId && each.startedAtMs <= firstByteAtMs);
  if (pool?.split === undefined || sent === undefined) return;
  // Revisions are compared by the time at their replicas: what a request waited before says nothing about them, and copies of
  // requests do not wait. The router expects nothing in the caches for copies, so only reported caches count beside them.
  const isLeftOut = pool.split.isShadow && isCacheUnknown(summary);
  const uncachedTokens = pool.split.isShadow ? record.promptTokens - record.cachedTokens : promptTokens;
  pool.split.observe({
    replicaId,
    firstTokenMs: isLeftOut ? Number.NaN : firstByteAtMs - beginOf(sent, attempts, pool.split),
    perTokenMs,
    uncachedTokens,
    busyCount: 1 + (pool.replicas.get(replicaId)?.requestCount ?? 0),
  });
}

/** A hedge hides that its revision was slow: the time begins with the first attempt at the same revision beside which it was sent. */
function beginOf(sent: AttemptNote, attempts: readonly AttemptNote[], split: RolloutSplit): number {
  if (sent.kind !== "hedge") return sent.startedAtMs;
  const beside = attempts.find(
    ({ pool, replica, endedAtMs }) =>
      pool === sent.pool &&
      split.isCanary(replica) === split.isCanary(sent.replica) &&
      (endedAtMs === 0 || endedAtMs > sent.startedAtMs),
  );
  return Math.min(sent.startedAtMs, beside?.startedAtMs ?? sent.startedAtMs);
}
