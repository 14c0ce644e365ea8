/**
 * The reason why MIG slices are not available: too few are free, or none of the free ones is at a position where the
 * profile can start.
 */
import { openCount, slicesIn } from "../../model/mig.ts";
import { partOn } from "../../cluster/device-slices.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { BlockedReason } from "../../contract/verdicts.ts";
import type { AcceptedNodes } from "./accepted-nodes.ts";

const SLICES = 8;

/** Shortfall on nodes of one type; `placeableWorkers`: number of workers that fit now. */
export function partShortfall(
  { gang, workers }: PlacementRequest,
  accepted: AcceptedNodes,
  placeableWorkers: number,
): BlockedReason {
  const { profile = "" } = gang;
  let sliceCount = 0;
  let misalignedCount = 0;
  for (const slot of accepted.slots) {
    const part = partOn(slot.node, gang);
    if (part === undefined) continue;
    sliceCount = part.size;
    for (let index = 0; index < slot.totalCount; index++) {
      const taken = slot.slicesTaken(index, "idle");
      if (SLICES - slicesIn(taken) >= part.size && openCount(part, taken) === 0) misalignedCount++;
    }
  }
  return { kind: "partShortfall", profile, sliceCount, workers, placeableWorkers, misalignedCount };
}
