/** Telemetry of simulated attempts: the same rolled-up series that the server keeps in its store, but in memory. */
import type { AttemptId, Signal } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { METRICS_POINTS_DEFAULT } from "@headroom/protocol";
import type { AttemptMetrics, Page, QueryFor } from "@headroom/protocol";
import { AttemptSeries, NewestReports, isTelemetrySignal, refusedCursor, sampleOf } from "@headroom/views";

/** Maximum number of attempts with series. The oldest are dropped, so that memory stays within some tens of MiB. */
const ATTEMPTS_KEPT = 4_000;
const PAGE_ATTEMPTS = 20;

interface Kept {
  readonly workloadId: string;
  readonly series: AttemptSeries;
}

export class DemoTelemetry {
  readonly newest = new NewestReports();
  readonly #kept = new Map<AttemptId, Kept>();

  record(signals: readonly Signal[], state: ReadonlyState, atMs: number): void {
    for (const signal of signals) {
      if (!isTelemetrySignal(signal)) continue;
      const attempt = state.attempts.get(signal.attemptId);
      if (attempt === undefined) continue;
      const sample = sampleOf(signal, atMs, attempt.startedAtMs);
      this.newest.record(attempt.id, sample, state);
      const known = this.#kept.get(attempt.id) ?? { workloadId: attempt.workloadId, series: new AttemptSeries() };
      known.series.add(sample);
      this.#kept.set(attempt.id, known);
    }
    for (const id of this.#kept.keys()) {
      if (this.#kept.size <= ATTEMPTS_KEPT) return;
      this.#kept.delete(id);
    }
  }

  read(
    workloadId: string,
    { attempt, cursor, limit = PAGE_ATTEMPTS, points = METRICS_POINTS_DEFAULT, fromMs, toMs }: QueryFor<"metrics">,
  ): Page<AttemptMetrics> {
    const own = [...this.#kept].filter(
      ([id, kept]) => kept.workloadId === workloadId && (attempt === undefined || id === attempt),
    );
    const from = typeof cursor !== "string" ? 0 : Number(cursor);
    if (!Number.isSafeInteger(from)) throw refusedCursor(cursor ?? "");
    const items = own.slice(from, from + limit).map(([id, { series }]) => series.view(id, { points, fromMs, toMs }));
    return { items, nextCursor: from + limit < own.length ? String(from + limit) : null };
  }
}
