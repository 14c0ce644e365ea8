/** Who starts only off-peak is asked while power is cheap and clean enough, and when it can wait no longer. What runs runs on. */
import type { Batch } from "../batch/batch.ts";
import { mayStart, nextLookMs } from "../cluster/off-peak.ts";
import { PowerOutlook } from "../energy/power-outlook.ts";
import { workloadOf } from "../cluster/entities.ts";
import { waitingTaskCount } from "../state/ready-task.ts";

export function keepOffPeak(batch: Batch): void {
  const { world, nowMs: atMs } = batch;
  const { offPeak } = world;
  if (offPeak.waiting.size === 0 || atMs < offPeak.lookAtMs) return;
  const outlook = new PowerOutlook(world.state, atMs);
  for (const workloadId of Array.from(offPeak.waiting)) {
    const workload = workloadOf(world, workloadId);
    // Of what runs whole nothing waits; it is looked at when something of it has to start again.
    if (waitingTaskCount(workload) === 0) continue;
    const waits = !mayStart(world, workload.spec, outlook, atMs);
    if (waits === (workload.waitsForOffPeak === true)) continue;
    batch.emit({ kind: waits ? "offPeakEnded" : "offPeakBegan", version: 1, atMs, workloadId });
  }
  const next = nextLookMs(world, atMs);
  offPeak.lookAtMs = next ?? Number.POSITIVE_INFINITY;
  if (next !== null) world.timers.add({ kind: "calendar", atMs: next });
}
