/** What keeps work from having parts of divided accelerators: too few slices, or slices that do not lie where its profile may begin. */
import { openCount, slicesIn } from "../model/mig.ts";
import { partOn } from "../state/device-slices.ts";
import type { TypeCapacity } from "../state/capacity.ts";
import type { PlacementClass } from "../state/queue.ts";
import type { BlockedReason } from "../verdicts.ts";

const SLICES = 8;

/** Of one type; `placeableWorkers`: as many as find room now. */
export function partShortfall(
  { gang, workers }: PlacementClass,
  { slots }: TypeCapacity,
  placeableWorkers: number,
): BlockedReason {
  const { profile = "" } = gang;
  let sliceCount = 0;
  let misalignedCount = 0;
  for (const slot of slots) {
    const part = partOn(slot.node, gang);
    if (part === undefined || !slot.usable) continue;
    sliceCount = part.size;
    for (let index = 0; index < slot.totalCount; index++) {
      const taken = slot.slicesTaken(index, "idle");
      if (SLICES - slicesIn(taken) >= part.size && openCount(part, taken) === 0) misalignedCount++;
    }
  }
  return { kind: "partShortfall", profile, sliceCount, workers, placeableWorkers, misalignedCount };
}
