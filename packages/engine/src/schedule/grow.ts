/** Elastic gangs grow by one worker at a time into what is left when all else was served, out of the way of protected starts. */
import type { Batch } from "../batch.ts";
import { Ledger } from "../state/ledger.ts";
import type { PlacementClass } from "../state/queue.ts";
import { expectedEndMs } from "./backfill/expected-duration.ts";
import type { Placement } from "./request.ts";
import { growingAttempt } from "./request.ts";
import { isClosed } from "./place-waiting.ts";
import { openingOf, roundOrder } from "./order/round-order.ts";
import { findPlacement } from "./place.ts";
import { start } from "./start.ts";

export function growLast(batch: Batch): void {
  const { world } = batch;
  if (world.rules.elastic.grow !== "last") return;
  const growing = [...world.queue.growthClasses()].filter((found) => !isClosed(world, found));
  if (growing.length === 0) return;
  const order = roundOrder(world, growing);
  for (let found = order.first(); found !== null; found = order.first()) {
    const placement = placeBesideReservations(batch, found);
    order.drop(found);
    if (placement === null) {
      // What waits for a protected start alone is asked again in every round.
      if (world.reservations.length === 0) found.closedAt = openingOf(world);
      continue;
    }
    const more = world.queue.growthOf(start(batch, found, placement));
    if (more !== undefined) order.add(more);
  }
}

/** A further worker stays as long as its gang is expected to run. */
function placeBesideReservations({ world, nowMs }: Batch, found: PlacementClass): Placement | null {
  const { reservations } = world;
  const growing = growingAttempt(world, found);
  if (reservations.length === 0 || growing === null) return findPlacement(world, found);
  const endMs = expectedEndMs(world, growing, nowMs);
  const ledger = new Ledger(world);
  try {
    for (const reserved of reservations)
      if (reserved.startMs < endMs) ledger.occupy(reserved.found, reserved.placement);
    return findPlacement(world, found);
  } finally {
    ledger.rollback();
  }
}
