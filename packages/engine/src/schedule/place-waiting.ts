/**
 * The placing phase of a round: starts what the policy's order and the free capacity allow. Workloads of one placement
 * class stand or fall together, and within a round capacity only shrinks, so a class that did not fit once is not asked
 * again until something is freed: the cost follows what may have changed, not how much waits.
 */
import type { AttemptId, WorkloadId } from "../model/ids.ts";
import { attemptId } from "../model/ids.ts";
import type { Workload } from "../model/workload.ts";
import { activeAttempt } from "../state/entities.ts";
import { readyTask } from "../state/ready-task.ts";
import type { PlacementClass } from "../state/queue.ts";
import { invariant } from "../state/invariant.ts";
import type { World } from "../state/world.ts";
import type { Batch } from "../batch.ts";
import { launchOf } from "../decide/attempt-effects.ts";
import { verifyPlacement } from "../verify/placement.ts";
import { findPlacement, fitsEmptyFleet, isHeldByLimit } from "./place.ts";

export function placeWaiting(batch: Batch): void {
  const { world } = batch;
  const { queue } = world;
  if (queue.readyCount === 0 || queue.isSettled(opening(world))) return;
  startWhatFits(batch);
  queue.settle(opening(world));
}

function startWhatFits(batch: Batch): void {
  const { world } = batch;
  const open = openClasses(world);
  const stopAtHead = world.state.policy.whenHeadBlocked === "stop";
  while (open.length > 0) {
    const index = indexOfHead(world, open);
    const head = open[index] as PlacementClass;
    if (!isClosed(world, head)) placeFrom(batch, head);
    if (isClosed(world, head)) {
      // A team at its limit holds up itself, not the others.
      if (stopAtHead && !isHeldByLimit(world, head)) return;
      removeAt(open, index);
    } else if (head.waiting.length === 0) removeAt(open, index);
  }
}

/** Grows whenever something that did not fit may fit now. */
const opening = (world: World): number => world.capacity.freedEpoch + world.teamUse.limitEpoch;

const isClosed = (world: World, found: PlacementClass): boolean => found.closedAt === opening(world);

/** Classes that have to be looked at: where the head blocks, all that the fleet could hold; else those not known to be closed. */
function openClasses(world: World): PlacementClass[] {
  const { queue, state } = world;
  const stopAtHead = state.policy.whenHeadBlocked === "stop";
  const open = queue.openScratch;
  let count = 0;
  for (const found of queue.classes()) {
    if (found.waiting.length === 0) continue;
    if (!stopAtHead && isClosed(world, found)) continue;
    if (couldEverFit(world, found)) open[count++] = found;
  }
  while (open.length > count) open.pop();
  return open;
}

/** Work that even the empty fleet could not hold waits aside and blocks nobody. */
export function couldEverFit(world: World, found: PlacementClass): boolean {
  const { capacity } = world;
  if (found.fleetEpoch !== capacity.fleetEpoch) {
    found.fitsFleet = fitsEmptyFleet(capacity, found.gang, found.acceleratorTypes);
    found.fleetEpoch = capacity.fleetEpoch;
  }
  return found.fitsFleet;
}

function indexOfHead({ queue }: World, classes: readonly PlacementClass[]): number {
  let best = 0;
  for (let index = 1; index < classes.length; index++) {
    const head = (classes[index] as PlacementClass).waiting.first() as Workload;
    if (queue.compare(head, (classes[best] as PlacementClass).waiting.first() as Workload) < 0) best = index;
  }
  return best;
}

/** The order of the candidates is by their heads alone, so the last one may take the place of the removed one. */
function removeAt(classes: PlacementClass[], index: number): void {
  const last = classes.pop() as PlacementClass;
  if (index < classes.length) classes[index] = last;
}

/** Starts the next task of the class's first workload, or closes the class. */
function placeFrom(batch: Batch, found: PlacementClass): void {
  const { world, nowMs } = batch;
  const workload = found.waiting.first() as Workload;
  const placement = findPlacement(world, found);
  if (placement === null) {
    found.closedAt = opening(world);
    return;
  }
  const task = readyTask(workload, nowMs);
  invariant(task !== null, `workload ${workload.id} is in the queue without a task that may start`);
  verifyPlacement(world, workload, placement);
  const number = attemptNumber(workload, task);
  const id = attemptIdOf(workload.id, task, number, workload.spec.kind);
  const { acceleratorType, workers } = placement;
  batch.emit({
    kind: "gangPlaced",
    version: 1,
    atMs: nowMs,
    attemptId: id,
    workloadId: workload.id,
    task,
    number,
    acceleratorType,
    workers,
  });
  const attempt = activeAttempt(world, id);
  invariant(attempt !== undefined, `attempt ${id} was placed and is not there`);
  batch.ask(launchOf(world, attempt));
}

function attemptNumber(workload: Workload, task: number): number {
  if (task >= workload.nextTask) return 1;
  return (workload.attemptCounts.get(task) ?? 1) + 1;
}

const attemptIdOf = (id: WorkloadId, task: number, number: number, kind: "train" | "batch"): AttemptId =>
  attemptId(kind === "batch" ? `${id}.${task}.${number}` : `${id}.${number}`);
