/** Whether there is room beside protected starts: what would run into them leaves their places alone. */
import { Ledger } from "../../cluster/ledger.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import { findPlacement } from "../place.ts";
import type { Placement } from "../../cluster/request.ts";
import type { Reservation } from "./reservations.ts";

/** A place now that none of these starts needs; `null`: there is none. */
export function findBesideStarts(
  world: World,
  found: QueueBucket,
  starts: readonly Pick<Reservation, "found" | "placement">[],
): Placement | null {
  const ledger = new Ledger(world);
  try {
    for (const start of starts) ledger.occupy(start.found, start.placement);
    return findPlacement(world, found);
  } finally {
    ledger.rollback();
  }
}
