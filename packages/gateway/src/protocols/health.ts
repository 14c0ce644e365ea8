/**
 * Paths that a monitor asks without a key. `/healthz` states that the process answers, `/readyz` whether it can serve
 * requests now, and `/health` whether it accepts any. Their answers name nothing of the configuration.
 */
import type { Fleet } from "../replicas/fleet.ts";
import type { Answer } from "./read-requests.ts";

export interface ServingState {
  readonly fleet: Fleet;
  readonly isDraining: boolean;
  /** Whether usage cannot be recorded, so that requests are refused. */
  readonly isFailing: boolean;
  readonly nowMs: number;
}

interface NotReadyReason {
  readonly code: "draining" | "usageNotRecorded" | "noReplica";
  readonly detail: string;
}

const openPaths: ReadonlySet<string> = new Set([
  "/health",
  "/healthz",
  "/readyz",
  "/v2/health/live",
  "/v2/health/ready",
]);

const OPEN_LENGTH_MAX = Math.max(...[...openPaths].map(({ length }) => length));

export function isOpenPath(path: string): boolean {
  // The length spares most requests a hash of their path.
  return path.length <= OPEN_LENGTH_MAX && openPaths.has(path);
}

export function healthAnswer(path: string, state: ServingState): Answer | undefined {
  if (path === "/healthz") return { status: 200, body: JSON.stringify({ status: "ok" }) };
  if (path === "/health") {
    const isDraining = state.isDraining || state.isFailing;
    return { status: isDraining ? 503 : 200, body: JSON.stringify({ status: isDraining ? "draining" : "ok" }) };
  }
  if (path !== "/readyz") return undefined;
  const reasons = notReady(state);
  const isReady = reasons.length === 0;
  return {
    status: isReady ? 200 : 503,
    body: JSON.stringify({ status: isReady ? "ready" : "notReady", reasons }),
  };
}

export function notReady({ fleet, isDraining, isFailing, nowMs }: ServingState): readonly NotReadyReason[] {
  const reasons: NotReadyReason[] = [];
  if (isDraining) reasons.push({ code: "draining", detail: "The gateway is stopping." });
  if (isFailing)
    reasons.push({
      code: "usageNotRecorded",
      detail: "Usage cannot be recorded, so requests are refused. The gateway's log states why.",
    });
  if (!fleet.isServing(nowMs))
    reasons.push({ code: "noReplica", detail: "No replica of any pool takes requests, and no pool can be woken." });
  return reasons;
}
