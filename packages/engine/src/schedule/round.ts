/**
 * A round, after a batch's inputs were taken in: expire, then place. Each phase is callable alone. A round in which
 * nothing may have changed costs a look at the timers and at the classes that are not closed.
 */
import type { Batch } from "../batch.ts";
import { expire } from "./expire.ts";
import { placeWaiting } from "./place-waiting.ts";

export function runRound(batch: Batch): void {
  expire(batch);
  placeWaiting(batch);
  batch.world.queue.dropEmptyClasses();
}
