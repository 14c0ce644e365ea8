/**
 * Endpoints that share a small fleet: where a first replica waits for a place, an idle endpoint of the same team gives up its replicas
 * before its `idleToZero`. Nothing is taken from an endpoint with a request, from one whose gateways are not all heard, or
 * from one of a higher priority.
 */
import type { LoadReports } from "./load-reports.ts";
import { scaledToZero, type ScaleCommand, type ScaledEndpoint } from "./scaling-control.ts";

/** An endpoint is idle after this time: requests of one conversation come closer together. */
const IDLE_MS = 3_000;

/** Whether requests wait for a first replica that has no place yet. */
export function waitsForPlace({ id, scale, active }: ScaledEndpoint, reports: LoadReports, nowMs: number): boolean {
  return scale.replicas > 0 && active.length === 0 && (reports.load(id, nowMs)?.held ?? 0) > 0;
}

/** The command that gives up the replicas of the endpoint that is idle for longest; `null`: none can. */
export function yieldedFor(
  waiting: ScaledEndpoint,
  others: readonly ScaledEndpoint[],
  reports: LoadReports,
  nowMs: number,
): ScaleCommand | null {
  const idle = others.flatMap((endpoint) => {
    const idleMs = canYield(waiting, endpoint) ? idleFor(endpoint, reports, nowMs) : 0;
    return idleMs >= IDLE_MS ? [{ endpoint, idleMs }] : [];
  });
  const [longest] = idle.toSorted((left, right) => right.idleMs - left.idleMs);
  return longest === undefined ? null : scaledToZero(longest.endpoint, longest.idleMs);
}

function canYield(
  waiting: ScaledEndpoint,
  { id, team, priority, targets, bounds, active, need }: ScaledEndpoint,
): boolean {
  if (id === waiting.id || team !== waiting.team || priority > waiting.priority) return false;
  if (bounds.min > 0 || targets.idleToZeroMs === undefined || active.length === 0) return false;
  // A replica that starts or stops has its place for a reason that is not over.
  if (active.some(({ ready, stop }) => ready === undefined || stop !== null)) return false;
  if (active.length * need.accelerators < waiting.need.accelerators) return false;
  const [types, wanted] = [need.types, waiting.need.types];
  return types.length === 0 || wanted.length === 0 || types.some((type) => wanted.includes(type));
}

/** Time in ms without a request; 0: there is one, or it is not known. */
function idleFor({ id }: ScaledEndpoint, reports: LoadReports, nowMs: number): number {
  const load = reports.load(id, nowMs);
  if (load === null || load.gateways === 0 || load.silentGateways > 0 || load.running + load.held > 0) return 0;
  return load.idleMs;
}
