/**
 * Metrics of MLflow runs as curves of the attempts that log them. They go the way of the attempt's own progress reports,
 * so that the workload's page, API and command line show them.
 */
import { attemptId } from "@headroom/model";
import type { Driver } from "../driver/driver.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { AttemptPoints } from "./run-data.ts";

/** Limits of the progress file: metrics of a report, and characters of a name. */
const METRICS_MAX = 32;
const NAME_CHARS_MAX = 64;
/** Maximum number of reports from one call. Series are rolled up, so that more points would be merged at once. */
const STEPS_MAX = 100;

interface CurveTargets {
  readonly driver: Pick<Driver, "observe">;
  readonly telemetry: Pick<Telemetry, "newest">;
}

/** An attempt that reports its own progress with a total keeps it: the steps of an MLflow run can count other things. */
export function reportCurves({ driver, telemetry }: CurveTargets, { attemptId: id, points }: AttemptPoints): void {
  const progress = telemetry.newest.get(attemptId(id))?.progress ?? null;
  if (progress !== null && progress.totalSteps !== null) return;
  const bySteps = new Map<number, Map<string, number>>();
  for (const { key, value, step } of points) {
    if (value === null || !Number.isFinite(value) || step < 0 || key.length > NAME_CHARS_MAX) continue;
    const metrics = bySteps.get(step) ?? new Map<string, number>();
    if (metrics.size < METRICS_MAX) bySteps.set(step, metrics.set(key, value));
  }
  const steps = [...bySteps].toSorted(([one], [other]) => one - other).slice(-STEPS_MAX);
  for (const [step, metrics] of steps)
    void driver.observe({
      kind: "progressReported",
      attemptId: attemptId(id),
      step,
      totalSteps: null,
      metrics: Object.fromEntries(metrics),
    });
}
