/**
 * Endpoints that share a small fleet: where a first replica waits for a place, an idle endpoint of the same team gives up
 * replicas before its `idleToZero`. The caller asks its engine whether the place would go to the waiting endpoint (`makesRoom`),
 * so that nothing is given up for a back-off, a hold or the work of others.
 */
import type { WorkloadId } from "@headroom/model";
import type { LoadReports } from "./load-reports.ts";
import { scaledDown, type ScaleCommand, type ScaledEndpoint } from "./scaling-control.ts";

/** An endpoint is idle after the time of its own start, and this at least. */
const IDLE_MIN_MS = 30_000;
/** Gateways report within this time. An older reading says nothing about the requests of now. */
const FRESH_MS = 6_000;
/** All gateways of an endpoint have reported after this time, and one that was forgotten has come back or is gone. */
const HEARD_MS = 20_000;
const LOST_MS = 900_000;
/** Endpoints that one look asks the engine about. */
const ASKED_MAX = 3;
/** Time to the next question where none makes room. */
const ASKED_AGAIN_MS = 4_000;
/** Time to the next yield for an endpoint that the last one did not help, and its bounds. */
const AGAIN_MS = 10_000;
const AGAIN_MAX_MS = 600_000;
const AUTOSCALER = "autoscaler";

/** Whether requests wait for a first replica that has no place. */
export function waitsForPlace({ id, scale, active }: ScaledEndpoint, reports: LoadReports, nowMs: number): boolean {
  const load = reports.load(id, nowMs);
  return scale.replicas > 0 && active.length === 0 && load !== null && load.gateways > 0 && load.held > 0;
}

/** Remembers which endpoints gave up replicas for one that waits. */
export class IdleYields {
  #victim: WorkloadId | null = null;
  #againMs = AGAIN_MS;
  #nextAtMs = 0;

  /**
   * Commands that could make room now, in the order in which they are to be tried: the endpoint that is idle for longest first, and as
   * few of its replicas as possible. Empty: nothing is to be asked now.
   */
  candidates({ waiting, others, reports, nowMs }: YieldSample): readonly ScaleCommand[] {
    if (waiting.active.length > 0) {
      [this.#victim, this.#againMs, this.#nextAtMs] = [null, AGAIN_MS, 0];
      return [];
    }
    if (!waitsForPlace(waiting, reports, nowMs)) return [];
    // One that stops makes room when it has stopped.
    const last = others.find(({ id }) => id === this.#victim);
    if (last !== undefined && last.active.length > last.scale.replicas) return [];
    if (nowMs < this.#nextAtMs && this.#nextAtMs - nowMs <= AGAIN_MAX_MS) return [];
    const idle = others.flatMap((endpoint) => {
      const idleMs = canYield(waiting, endpoint, nowMs) ? idleFor(endpoint, reports, nowMs) : 0;
      return idleMs >= idleMinMs(endpoint) ? [{ endpoint, idleMs }] : [];
    });
    const longest = idle.toSorted((left, right) => right.idleMs - left.idleMs).slice(0, ASKED_MAX);
    return longest.flatMap(({ endpoint, idleMs }) =>
      [...new Set([endpoint.scale.replicas - 1, 0])].map((replicas) => scaledDown(endpoint, replicas, idleMs)),
    );
  }

  /** Takes the first candidate that makes room; `null`: none does, or it is not known. */
  chosen(command: ScaleCommand | null, nowMs: number): void {
    if (command === null) {
      // Another one is ahead in the queue, or the endpoint waits for something else: nothing was given up in vain.
      this.#nextAtMs = nowMs + ASKED_AGAIN_MS;
      return;
    }
    this.#nextAtMs = nowMs + this.#againMs;
    this.#againMs = Math.min(AGAIN_MAX_MS, 2 * this.#againMs);
    this.#victim = command.workloadId;
  }
}

interface YieldSample {
  readonly waiting: ScaledEndpoint;
  readonly others: readonly ScaledEndpoint[];
  readonly reports: LoadReports;
  readonly nowMs: number;
}

function canYield(waiting: ScaledEndpoint, endpoint: ScaledEndpoint, nowMs: number): boolean {
  const { id, team, priority, targets, bounds, active, scale } = endpoint;
  if (id === waiting.id || team !== waiting.team || priority > waiting.priority) return false;
  if (bounds.min > 0 || targets.idleToZeroMs === undefined || active.length === 0) return false;
  if (scale.replicas === 0 || active.length !== scale.replicas) return false;
  const leastMs = idleMinMs(endpoint);
  if (nowMs - scale.atMs < (scale.actor === AUTOSCALER ? leastMs : Math.max(leastMs, targets.idleToZeroMs)))
    return false;
  // A replica that starts, has just started, or stops has its place for a reason that is not over.
  return active.every(({ ready, stop }) => stop === null && ready !== undefined && nowMs - ready.atMs >= leastMs);
}

/** The time of the endpoint's own start: an earlier request would find it starting again. */
const idleMinMs = ({ active }: ScaledEndpoint): number =>
  Math.max(IDLE_MIN_MS, ...active.map(({ ready, placedAtMs }) => (ready?.atMs ?? 0) - placedAtMs));

/** Time in ms without a request as gateways reported it; 0: there is one, or it is not known for sure. */
function idleFor({ id }: ScaledEndpoint, reports: LoadReports, nowMs: number): number {
  const load = reports.load(id, nowMs);
  if (load === null || load.gateways === 0 || load.silentGateways > 0 || load.running + load.held > 0) return 0;
  if (nowMs - load.reportedAtMs > FRESH_MS || nowMs - load.heardSinceMs < HEARD_MS || nowMs - load.lostAtMs < LOST_MS)
    return 0;
  const newest = reports.reportsOf(id);
  // Lines of batches are among the requests of a replica only.
  if (newest.some(({ replicas }) => replicas.some(({ requests }) => requests > 0))) return 0;
  return Math.min(...newest.map(({ idleMs }) => idleMs));
}
