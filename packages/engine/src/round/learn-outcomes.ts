/**
 * What the rounds of a world found out about what waits, told to a world that was indexed anew from the same state: which classes
 * do not fit, which never could, whether anything is left to look at, and the protected starts. All of it would be found out
 * again; a fork on which one thing is tried should not have to.
 */
import type { World } from "../cluster/world.ts";
import { capacityEpochOf } from "../ordering/round-order.ts";
import { reservationsOf, keepReservations } from "../placement/backfill/reservations.ts";

/** `world` follows from the state of `known` and has not decided anything yet. */
export function learnOutcomes(world: World, known: World): void {
  const twins = world.queue.twinsOf(known.queue);
  const capacityEpoch = capacityEpochOf(world);
  for (const [other, own] of twins) {
    if (other.rejectedAtEpoch === capacityEpochOf(known)) own.rejectedAtEpoch = capacityEpoch;
    if (other.fleetEpoch !== known.capacity.fleetEpoch) continue;
    own.fitsFleet = other.fitsFleet;
    own.fleetEpoch = world.capacity.fleetEpoch;
  }
  if (!known.queue.isClean(capacityEpochOf(known))) return;
  const reservations = reservationsOf(known).flatMap((reserved) => {
    const found = twins.get(reserved.found);
    return found === undefined ? [] : [{ ...reserved, found }];
  });
  if (reservations.length < reservationsOf(known).length) return;
  keepReservations(world, reservations);
  world.queue.markClean(capacityEpoch, known.queue.cleanAtMs);
}
