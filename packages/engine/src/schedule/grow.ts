/** Elastic gangs grow by one worker at a time into what is left when all else was served. */
import type { Batch } from "../batch.ts";
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
    const placement = findPlacement(world, found);
    if (placement === null) found.closedAt = openingOf(world);
    else start(batch, found, placement);
    order.drop(found);
  }
}
