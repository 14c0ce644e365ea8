/**
 * Stops all tasks of a workload. A batch requests a bounded number of stops, so that a group of events stays small
 * however many tasks run; the rest follows in the next batches, in the order of placement.
 */
import type { AttemptId, Workload, WorkloadId } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { activeAttempt } from "../cluster/entities.ts";
import { Slot } from "../cluster/scratch.ts";
import { requestStop } from "../transitions/stop-attempt.ts";

/** Running attempts of a workload that were not yet asked to stop, and how many of them the batches have passed. */
interface Remaining {
  readonly attempts: readonly AttemptId[];
  passed: number;
}

/** Without it, each batch would pass all earlier attempts again. A workload that is to stop starts no further ones. */
const remaining = new Slot<Map<WorkloadId, Remaining>>(() => new Map(), { survivesUndo: false });

/** Requests stops of the workload's attempts, as many as the batch may. Returns whether none is left. */
export function stopTasks(batch: Batch, workload: Workload): boolean {
  const { world } = batch;
  const known = world.scratch.get(remaining);
  const list = known.get(workload.id) ?? { attempts: [...workload.activeAttempts], passed: 0 };
  for (; list.passed < list.attempts.length; list.passed++) {
    const attempt = activeAttempt(world, list.attempts[list.passed] as AttemptId);
    if (attempt === undefined) continue;
    if (attempt.stop === null && !batch.mayStop()) {
      known.set(workload.id, list);
      return false;
    }
    requestStop(batch, attempt, "cancelled");
  }
  known.delete(workload.id);
  world.stopping.delete(workload.id);
  return true;
}

/** Continues the stops that earlier batches have left. */
export function continueStops(batch: Batch): void {
  if (batch.world.stopping.size > 0) stopRest(batch);
}

function stopRest(batch: Batch): void {
  const { stopping, state } = batch.world;
  const workloads = [...stopping].flatMap((id) => state.workloads.get(id) ?? []);
  stopping.clear();
  for (const workload of workloads)
    if (workload.stopRequested && workload.endedAtMs === null) stopping.add(workload.id);
  // A restored engine knows the same workloads in the order of their submission.
  for (const workload of workloads.toSorted((left, right) => left.ordinal - right.ordinal))
    if (stopping.has(workload.id) && !stopTasks(batch, workload)) return;
}
