/** Latencies as histograms of bounded size, summarised in milliseconds. */
import { createHistogram } from "node:perf_hooks";
import type { Histogram, RecordableHistogram } from "node:perf_hooks";
import type { LatencySummary } from "./driver.ts";

const NS_PER_MS = 1e6;

export class LatencyRecorder {
  readonly #histogram: RecordableHistogram = createHistogram();

  record(elapsedMs: number): void {
    // The histogram takes integers from 1 on, so 0 ns is counted as 1 ns.
    this.#histogram.record(Math.max(1, Math.round(elapsedMs * NS_PER_MS)));
  }

  summary(): LatencySummary {
    return summarise(this.#histogram, 0);
  }
}

/** `offsetMs` is subtracted from every sample, for example the sampling interval of an event-loop monitor. */
export function summarise(histogram: Histogram, offsetMs: number): LatencySummary {
  const { count } = histogram;
  if (count === 0) return { count, meanMs: 0, p50Ms: 0, p99Ms: 0, maxMs: 0 };
  const inMs = (ns: number): number => Math.max(0, ns / NS_PER_MS - offsetMs);
  return {
    count,
    meanMs: inMs(histogram.mean),
    p50Ms: inMs(histogram.percentile(50)),
    p99Ms: inMs(histogram.percentile(99)),
    maxMs: inMs(histogram.max),
  };
}
