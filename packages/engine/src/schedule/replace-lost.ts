/**
 * New places for workers that were lost with their nodes, before anybody else is given any: of gangs that say they can go on so. Who
 * finds no place for all of them starts again as a whole from its checkpoint, like any other gang.
 */
import type { Batch } from "../batch.ts";
import { replaceOf } from "../decide/attempt-effects.ts";
import { requestStop } from "../decide/stop-attempt.ts";
import type { Attempt } from "../model/workload.ts";
import { workloadOf } from "../state/entities.ts";
import { PlacementClass } from "../state/queue.ts";
import { SortedList } from "../state/sorted-list.ts";
import type { World, WorkloadEntity } from "../state/world.ts";
import { verifyPlacement } from "../verify/placement.ts";
import { findPlacement } from "./place.ts";

export function replaceLost(batch: Batch): void {
  if (batch.wounded.length === 0) return;
  const attempts = batch.wounded.toSorted((left, right) => left.placedSequence - right.placedSequence);
  for (const attempt of attempts) {
    // It may have ended, or been asked to stop, since.
    if (batch.world.state.attempts.get(attempt.id) === attempt && attempt.stop === null) replaceRanks(batch, attempt);
  }
}

function replaceRanks(batch: Batch, attempt: Attempt): void {
  const { world, nowMs: atMs } = batch;
  const { missing = [] } = attempt;
  const found = requestFor(world, attempt, missing.length);
  const placement = findPlacement(world, found);
  if (placement === null) return requestStop(batch, attempt, "nodeLost");
  verifyPlacement(world, found, placement);
  const { workers } = placement;
  batch.emit({ kind: "workersReplaced", version: 1, atMs, attemptId: attempt.id, workers });
  batch.ask(replaceOf(world, attempt, missing));
}

/** Beside its other workers, as further workers of a gang that grows are placed. */
function requestFor(world: World, attempt: Attempt, workers: number): PlacementClass {
  const workload = workloadOf(world, attempt.workloadId);
  const waiting = new SortedList<WorkloadEntity>(world.queue.compare);
  waiting.insert(workload);
  return new PlacementClass(workload, { rules: world.rules, growth: workers, grows: attempt.id }, waiting);
}
