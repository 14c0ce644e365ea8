/**
 * Finds placements that delay no protected start. Work that would still run when a protected start begins must use
 * capacity that this start does not use.
 */
import { simulate } from "../../cluster/ledger.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import { findPlacement } from "../place.ts";
import type { Placement } from "../../cluster/request.ts";
import type { Reservation } from "./reservations.ts";

/** A placement now that delays none of the protected starts in `starts`, or `null` if there is none. */
export function findBesideStarts(
  world: World,
  request: PlacementRequest,
  starts: readonly Pick<Reservation, "bucket" | "placement">[],
): Placement | null {
  return simulate(world, (ledger) => {
    for (const start of starts) ledger.occupy(start.bucket.request, start.placement);
    return findPlacement(world, request);
  });
}
