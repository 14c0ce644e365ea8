/**
 * Copies cached results from one world to another with the same state: rejected buckets, requests that exceed the
 * fleet, whether the queue is clean, protected starts. They could be recomputed, but for a fork with a single
 * counterfactual run that takes longer than the run.
 */
import type { World } from "../cluster/world.ts";
import { capacityEpochOf, isClosed, markRejected } from "../ordering/round-order.ts";
import { knownFit, rememberFit } from "../placement/could-ever.ts";
import { reservationsOf, keepReservations } from "../placement/backfill/reservations.ts";

/** `world` must be indexed from the state of `known`, and no round may have run on it. */
export function learnOutcomes(world: World, known: World): void {
  const twins = world.queue.twinsOf(known.queue);
  const capacityEpoch = capacityEpochOf(world);
  for (const [other, own] of twins) {
    if (isClosed(known, other)) markRejected(world, own);
    const fits = knownFit(known, other);
    if (fits !== null) rememberFit(world, own, fits);
  }
  if (!known.queue.isClean(capacityEpochOf(known))) return;
  const reservations = reservationsOf(known).flatMap((reserved) => {
    const bucket = twins.get(reserved.bucket);
    return bucket === undefined ? [] : [{ ...reserved, bucket }];
  });
  if (reservations.length < reservationsOf(known).length) return;
  keepReservations(world, reservations);
  world.queue.markClean(capacityEpoch, known.queue.cleanAtMs);
}
