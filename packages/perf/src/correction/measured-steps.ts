/**
 * The typical step time of a run, computed from the run's own progress reports. Reports are untrusted: impossible ones
 * are dropped. Pauses (checkpoints, evaluations, lost nodes) do not change the result, because it is a median.
 */
import type { StepParts } from "./slow-runs.ts";

/** One progress report, or several reports that were merged. Merged reports have the step of the newest one. */
export interface StepPoint {
  readonly atMs: number;
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface MeasuredStep {
  /**
   * Step time in seconds. It is the median over windows, in which each window has the weight of its number of steps.
   */
  readonly seconds: number;
  /** Number of measured steps, without the warm-up. */
  readonly stepCount: number;
  /** Seconds of a step by component, for components that the run reports. */
  readonly reported: Partial<StepParts>;
}

/** Metrics in progress reports that state the components of a step, in seconds. */
export const partMetrics: Readonly<Record<keyof StepParts, string>> = {
  compute: "computeSeconds",
  network: "networkSeconds",
  storage: "storageSeconds",
};

/**
 * Minimum length of a window in ms. Executors read reports about once a second; shorter windows would measure that
 * interval.
 */
export const measuredWindowMinMs = 5_000;
const windowsMin = 3;
const windowsMax = 16;
const stepsMin = 5;

interface Span {
  readonly seconds: number;
  readonly steps: number;
}

/**
 * The typical step of a run. `undefined` if there are too few reports, or only impossible ones. The first span is
 * warm-up and does not count.
 */
export function measuredStepOf(
  points: readonly StepPoint[],
  windowMinMs: number = measuredWindowMinMs,
): MeasuredStep | undefined {
  const spans = spansOf(points).slice(1);
  const whole = spans.reduce((sum, { seconds }) => sum + seconds, 0);
  const windows = gathered(spans, Math.max(windowMinMs / 1000, whole / windowsMax));
  const stepCount = windows.reduce((sum, { steps }) => sum + steps, 0);
  if (windows.length < windowsMin || stepCount < stepsMin) return undefined;
  const seconds = weightedMedian(windows.map((window) => [window.seconds / window.steps, window.steps]));
  return { seconds, stepCount, reported: reportedParts(points) };
}

/**
 * Spans between reports with increasing steps. A report with a smaller step means a restart from a checkpoint, and a
 * new span begins there.
 */
function spansOf(points: readonly StepPoint[]): Span[] {
  const spans: Span[] = [];
  let last: StepPoint | undefined;
  for (const point of points) {
    if (last === undefined || point.step < last.step || point.atMs < last.atMs) last = point;
    else if (point.step > last.step) {
      spans.push({ seconds: (point.atMs - last.atMs) / 1000, steps: point.step - last.step });
      last = point;
    }
  }
  return spans.filter(({ seconds }) => seconds > 0);
}

/**
 * Joins neighbouring spans into windows of at least `windowSeconds`. Spans at the end that do not fill a window are
 * left out.
 */
function gathered(spans: readonly Span[], windowSeconds: number): Span[] {
  const windows: Span[] = [];
  let [seconds, steps] = [0, 0];
  for (const span of spans) {
    seconds += span.seconds;
    steps += span.steps;
    // The tolerance of a millionth covers rounding errors of the sums.
    if (seconds < windowSeconds * (1 - 1e-6)) continue;
    windows.push({ seconds, steps });
    [seconds, steps] = [0, 0];
  }
  return windows;
}

function weightedMedian(entries: readonly (readonly [value: number, weight: number])[]): number {
  const sorted = entries.toSorted(([left], [right]) => left - right);
  const half = sorted.reduce((sum, [, weight]) => sum + weight, 0) / 2;
  let seen = 0;
  for (const [value, weight] of sorted) {
    seen += weight;
    if (seen >= half) return value;
  }
  return Number.NaN;
}

function reportedParts(points: readonly StepPoint[]): Partial<StepParts> {
  const parts = Object.entries(partMetrics).flatMap(([part, name]) => {
    const values = points.flatMap(({ metrics }) => metrics[name] ?? []).filter((value) => value >= 0);
    const known = values.filter(Number.isFinite).map((value) => [value, 1] as const);
    return known.length === 0 ? [] : [[part, weightedMedian(known)] as const];
  });
  return Object.fromEntries(parts);
}
