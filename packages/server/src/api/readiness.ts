/**
 * Readiness: whether this process can take commands now. Health (`/healthz`) says whether a restart could help, which a
 * full inbox does not need. The answer is open to everybody, so it names no path.
 */
import type { DriverStatus } from "../driver/driver.ts";

export interface NotReadyReason {
  readonly code: "closing" | "failed" | "paused" | "overloaded";
  readonly detail: string;
}

export function notReady({
  phase,
  paused,
  inboxLength,
  inboxLimit,
}: Pick<DriverStatus, "phase" | "paused" | "inboxLength" | "inboxLimit">): readonly NotReadyReason[] {
  if (phase === "failed")
    return [{ code: "failed", detail: "The journal cannot be written. The process is about to end." }];
  if (phase !== "running") return [{ code: "closing", detail: "The control plane is stopping." }];
  const reasons: NotReadyReason[] = [];
  if (paused !== null)
    reasons.push({
      code: "paused",
      detail: "Decisions are paused. `headroom status` states the reason and the remedy.",
    });
  if (inboxLength >= inboxLimit)
    reasons.push({ code: "overloaded", detail: "The inbox is full. Commands are refused until it empties." });
  return reasons;
}
