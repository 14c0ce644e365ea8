/**
 * The placing phase of a round: starts what the policy's order and the free capacity allow. Workloads of one placement
 * class stand or fall together, and within a round capacity only shrinks, so a class that did not fit once is not asked
 * again until something is freed: the cost follows what may have changed, not how much waits.
 */
import type { Batch } from "../batch.ts";
import type { PlacementClass } from "../state/queue.ts";
import type { World } from "../state/world.ts";
import { openingOf, roundOrder } from "./order/round-order.ts";
import { findPlacement, fitsEmptyFleet, isHeldByLimit } from "./place.ts";
import { start } from "./start.ts";

export function placeWaiting(batch: Batch): void {
  const { world } = batch;
  const { queue } = world;
  if (!queue.hasRequests || queue.isSettled(openingOf(world))) return;
  startWhatFits(batch);
  queue.settle(openingOf(world));
}

function startWhatFits(batch: Batch): void {
  const { world } = batch;
  const stopAtHead = world.rules.whenHeadBlocked === "stop";
  const order = roundOrder(world, classesToAsk(world));
  for (let head = order.first(); head !== null; head = order.first()) {
    if (!isClosed(world, head)) placeFrom(batch, head);
    if (isClosed(world, head)) {
      // A team at its limit holds up itself, not the others.
      if (stopAtHead && !isHeldByLimit(world, head)) return;
      order.drop(head);
    } else order.served(head);
  }
}

export const isClosed = (world: World, found: PlacementClass): boolean => found.closedAt === openingOf(world);

/** Classes that have to be looked at: where the head blocks, all that the fleet could hold; else those not known to be closed. */
function classesToAsk(world: World): readonly PlacementClass[] {
  const { queue, rules } = world;
  const stopAtHead = rules.whenHeadBlocked === "stop";
  const open = queue.openScratch;
  let count = 0;
  for (const found of queue.classes()) {
    if (found.waiting.length === 0) continue;
    if (!stopAtHead && isClosed(world, found)) continue;
    if (couldEverFit(world, found)) open[count++] = found;
  }
  if (rules.elastic.grow === "in-order") {
    for (const found of queue.growthClasses()) if (!isClosed(world, found)) open[count++] = found;
  }
  while (open.length > count) open.pop();
  return open;
}

/** Work that even the empty fleet could not hold waits aside and blocks nobody. */
export function couldEverFit(world: World, found: PlacementClass): boolean {
  const { capacity } = world;
  if (found.fleetEpoch !== capacity.fleetEpoch) {
    found.fitsFleet = fitsEmptyFleet(capacity, found);
    found.fleetEpoch = capacity.fleetEpoch;
  }
  return found.fitsFleet;
}

/** Starts the next task of the class's first workload, or closes the class. */
function placeFrom(batch: Batch, found: PlacementClass): void {
  const placement = findPlacement(batch.world, found);
  if (placement === null) found.closedAt = openingOf(batch.world);
  else start(batch, found, placement);
}
