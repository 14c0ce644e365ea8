/** Nominations, and the record of planned evictions and migrations. */
import { MIGRATION_REST_MS, heedsHead, InvariantError, invariant } from "@headroom/model";
import type { PlanEvent, AttemptId, WorkloadId, Nomination } from "@headroom/model";
import { growthOf, holdNomination } from "../cluster/holdings.ts";
import { waitForRest, waitForWindowsAhead } from "../cluster/world.ts";
import { readyTask } from "../state/ready-task.ts";
import type { WritableWorkload } from "../state/mutable-state.ts";
import { passStopped, updateTask } from "./tasks.ts";
import { activeAttempt, queueIfReady, touchedAttempt, touchedWorkload, workloadOf } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

export const planEvents: Appliers<PlanEvent> = {
  placementNominated(world, { nomination }) {
    const { attemptId, afterAttempt, growth } = nomination;
    const workload = touchedWorkload(world, nomination.workloadId);
    if (afterAttempt !== undefined) world.queue.setGrowth(workload, afterAttempt, 0);
    else if (growth) world.queue.setGrowth(workload, attemptId, 0);
    else takeTask(world, workload, nomination);
    world.state.nominations.set(attemptId, nomination);
    waitForWindowsAhead(world, nomination);
    holdNomination(world, nomination, 1);
    markDirty(world);
  },
  nominationWithdrawn(world, { attemptId, atMs }) {
    const { growth, afterAttempt, task, workloadId } = takeNomination(world, attemptId);
    world.capacity.freedEpoch++;
    const workload = workloadOf(world, workloadId);
    if (growth) {
      const attempt = activeAttempt(world, attemptId);
      if (attempt !== undefined) world.queue.setGrowth(workload, attemptId, growthOf(world, workload, attempt));
      return;
    }
    // A migrating task waits again only after its running attempt has ended.
    if (afterAttempt !== undefined) return;
    // The task is a retry without a delay, because its attempt number was already used.
    updateTask(workload, task, { retryAtMs: atMs });
    if (workload.spec.startWindow !== undefined) world.startWindow.lookAtMs = -1;
    queueIfReady(world, workload, atMs);
  },
  evictionPlanned(world, { pairsGathered, workloadId, atMs }) {
    if (pairsGathered !== undefined) rememberMigration(world, workloadId, atMs);
  },
  opportunisticJobRelabelled(world, { attemptId }) {
    touchedAttempt(world, attemptId).opportunistic = true;
    world.teamUse.limitEpoch++;
  },
};

/**
 * Records a migration. Migrated work rests before it may migrate again. Entries whose rest is over are dropped, the
 * oldest first.
 */
function rememberMigration(world: WritableWorld, id: WorkloadId, atMs: number): void {
  const { migrated } = world.state;
  for (const [known, migratedAtMs] of migrated) {
    if (migratedAtMs + MIGRATION_REST_MS > atMs) break;
    migrated.delete(known);
  }
  migrated.delete(id);
  migrated.set(id, atMs);
  waitForRest(world, atMs);
}

/** Usage changed, so the head of the queue, protected starts and the fit of task groups may change. */
export function markDirty({ queue, rules }: WritableWorld): void {
  if (heedsHead(rules) || queue.hasGroups) queue.markDirty();
}

/**
 * Removes the task from the workload's retries, or from its tasks that have not started. If no task is left, removes
 * the workload from the queue.
 */
export function takeTask(
  world: WritableWorld,
  workload: WritableWorkload,
  { task, number, atMs }: Pick<Nomination, "task" | "number" | "atMs">,
): void {
  if (task < workload.nextTask) {
    updateTask(workload, task, { attemptCount: number, retryAtMs: null });
  } else {
    if (task !== workload.nextTask)
      throw new InvariantError(`workload ${workload.id} starts task ${task}, next is ${workload.nextTask}`);
    workload.nextTask = task + 1;
    passStopped(workload);
  }
  if (readyTask(workload, atMs) === null) world.queue.remove(workload);
}

export function takeNomination(world: WritableWorld, id: AttemptId): Nomination {
  const place = world.state.nominations.get(id);
  invariant(place !== undefined, `attempt ${id} has no nomination`);
  world.state.nominations.delete(id);
  holdNomination(world, place, -1);
  touchedWorkload(world, place.workloadId);
  return place;
}
