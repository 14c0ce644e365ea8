/** Records progress estimates and idle times; older journals contain every report. */
import type { AttemptEvent } from "../contract/events.ts";
import { addUtilization } from "../state/utilization.ts";
import { touchedAttempt } from "./touched.ts";
import { unreachable } from "../base/unreachable.ts";
import type { WritableWorld } from "./writable.ts";

type ReportEvent = Extract<
  AttemptEvent,
  { readonly kind: "progressEstimated" | "idleChanged" | "progressRecorded" | "utilizationRecorded" }
>;

export function applyReport(world: WritableWorld, event: ReportEvent): void {
  switch (event.kind) {
    case "progressEstimated": {
      const { atMs } = event;
      for (const [id, step, totalSteps] of event.estimates)
        touchedAttempt(world, id).progress = { atMs, step, totalSteps, metrics: {} };
      return;
    }
    case "idleChanged": {
      for (const [id, idleSinceMs] of event.changes) {
        const attempt = touchedAttempt(world, id);
        if (idleSinceMs === null) delete attempt.idleSinceMs;
        else attempt.idleSinceMs = idleSinceMs;
      }
      return;
    }
    case "progressRecorded": {
      const { atMs, step, totalSteps, metrics } = event;
      touchedAttempt(world, event.attemptId).progress = { atMs, step, totalSteps, metrics };
      return;
    }
    case "utilizationRecorded": {
      const attempt = touchedAttempt(world, event.attemptId);
      const { atMs, accelerators, busyAccelerators, busyMilli, peakMemoryMib, capacityMib } = event;
      const report = { accelerators, busyAccelerators, busyMilli, peakMemoryMib, capacityMib };
      attempt.utilization = addUtilization(attempt.utilization, report, { atMs, startedAtMs: attempt.startedAtMs });
      return;
    }
    default:
      unreachable(event);
  }
}
