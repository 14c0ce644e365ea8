/** Metrics that a workload's attempts reported, from the telemetry store. */
import type { WorkloadId } from "@headroom/model";
import { METRICS_POINTS_DEFAULT, refuse } from "@headroom/protocol";
import type { AttemptMetrics, Page, QueryFor } from "@headroom/protocol";
import { refusedCursor } from "@headroom/views";
import type { ControlPlane } from "./control-plane.ts";

/** Default number of attempts on a page. With series of 300 points a page then has at most a megabyte. */
const ATTEMPTS_DEFAULT = 20;
const ATTEMPTS_MAX = 100;

export async function workloadMetrics(
  { driver, telemetry }: ControlPlane,
  workloadId: string,
  { attempt, cursor, limit = ATTEMPTS_DEFAULT, points = METRICS_POINTS_DEFAULT, fromMs, toMs }: QueryFor<"metrics">,
): Promise<Page<AttemptMetrics>> {
  const isKnown = await driver.read(({ state }) => state.workloads.has(workloadId as WorkloadId));
  if (!isKnown) throw refuse("unknownWorkload", `There is no workload ${workloadId}; it may have ended long ago.`);
  const after = typeof cursor !== "string" ? 0 : positionOf(cursor);
  const range = { points, fromMs, toMs };
  return telemetry.read({
    workloadId,
    attemptId: attempt ?? null,
    after,
    limit: Math.min(limit, ATTEMPTS_MAX),
    ...range,
  });
}

/** Position of the page in the store. Positions increase, and no position is used again while later ones exist. */
function positionOf(cursor: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(cursor)) throw refusedCursor(cursor);
  return Number(cursor);
}
