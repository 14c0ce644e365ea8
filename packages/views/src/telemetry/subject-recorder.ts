/** Series of all subjects in memory, for a control plane without a telemetry store, such as the demo in the browser. */
import type { Engine } from "@headroom/engine";
import { METRICS_POINTS_DEFAULT } from "@headroom/protocol";
import type { SeriesQuery, SubjectSeries } from "@headroom/protocol";
import type { AcceleratorReadings } from "./accelerator-readings.ts";
import { Series } from "./series.ts";
import { seriesView } from "./series-view.ts";
import { subjectSamples } from "./subject-samples.ts";

const SAMPLE_EVERY_MS = 600_000;

export class SubjectRecorder {
  readonly #series = new Map<string, Series>();
  #sampledAtMs = -Infinity;

  sampleIfDue(engine: Engine, readings: () => AcceleratorReadings, nowMs: number): void {
    if (nowMs - this.#sampledAtMs < SAMPLE_EVERY_MS) return;
    this.#sampledAtMs = nowMs;
    for (const { subject, atMs, values } of subjectSamples(engine, readings(), nowMs)) {
      const series = this.#series.get(subject) ?? new Series();
      series.add(atMs, 0, values);
      this.#series.set(subject, series);
    }
  }

  view({ subject, points = METRICS_POINTS_DEFAULT, fromMs, toMs }: SeriesQuery): SubjectSeries {
    return seriesView(subject, this.#series.get(subject) ?? null, { points, fromMs, toMs });
  }
}
