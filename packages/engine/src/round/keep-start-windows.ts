/**
 * Work with a start window becomes eligible while power is cheap and clean enough, and stays eligible from its latest
 * start on. Running work is not affected.
 */
import type { Batch } from "../batch/batch.ts";
import { mayStart, nextLookMs } from "../cluster/start-window.ts";
import { PowerForecast } from "../energy/power-forecast.ts";
import { workloadOf } from "../cluster/entities.ts";
import { waitingTaskCount } from "../state/ready-task.ts";

export function keepStartWindows(batch: Batch): void {
  const { world, nowMs: atMs } = batch;
  const { startWindow } = world;
  if (startWindow.waiting.size === 0 || atMs < startWindow.lookAtMs) return;
  const forecast = new PowerForecast(world.state, atMs);
  for (const workloadId of Array.from(startWindow.waiting)) {
    const workload = workloadOf(world, workloadId);
    // A workload without waiting tasks is not checked until one of its tasks waits again.
    if (waitingTaskCount(workload) === 0) continue;
    const waits = !mayStart(world, workload.spec, forecast, atMs);
    if (waits === (workload.waitsForStartWindow === true)) continue;
    batch.emit({ kind: waits ? "startWindowClosed" : "startWindowOpened", version: 1, atMs, workloadId });
  }
  const next = nextLookMs(world, atMs);
  startWindow.lookAtMs = next ?? Number.POSITIVE_INFINITY;
  if (next !== null) world.timers.add({ kind: "calendar", atMs: next });
}
