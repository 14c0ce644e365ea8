/**
 * The typical step of a run from its own reports of progress. Reports are untrusted: impossible ones are dropped, and
 * pauses (checkpoints, evaluations, lost nodes) do not move a median.
 */
import type { StepParts } from "./slow-runs.ts";

/** One report of progress, or several merged ones with the step of the newest. */
export interface StepPoint {
  readonly atMs: number;
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface MeasuredStep {
  /** Median over windows, weighted by steps. */
  readonly seconds: number;
  /** Steps behind the figure, without the warm-up. */
  readonly stepCount: number;
  /** Seconds of a step by component, as far as the run reports them. */
  readonly reported: Partial<StepParts>;
}

/** Metrics of progress reports by which a run states the components of its step, seconds. */
export const partMetrics: Readonly<Record<keyof StepParts, string>> = {
  compute: "computeSeconds",
  network: "networkSeconds",
  storage: "storageSeconds",
};

/** Executors read reports about once a second: shorter windows would measure that. */
export const measuredWindowMinMs = 5_000;
const windowsMin = 3;
const windowsMax = 16;
const stepsMin = 5;

interface Span {
  readonly seconds: number;
  readonly steps: number;
}

/** `undefined`: too few reports, or none that make sense. The first span is warm-up and does not count. */
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

/** Between reports of which the later has more steps. A step that goes back is a restart from a checkpoint. */
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

/** Neighbouring spans together until they last so many seconds; a rest that is too short is left out. */
function gathered(spans: readonly Span[], windowSeconds: number): Span[] {
  const windows: Span[] = [];
  let [seconds, steps] = [0, 0];
  for (const span of spans) {
    seconds += span.seconds;
    steps += span.steps;
    // A millionth: sums of the spans may miss a sixteenth of the whole by a rounding error.
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
