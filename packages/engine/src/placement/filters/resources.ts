import { needsPart, partKey } from "../../model/device-part.ts";
import type { Filter } from "./filter.ts";

/**
 * Capacity of a node for the workers: accelerators, fractions or MIG slices, cores, memory (`NodeSlot.workersThatFit`).
 */
export const resources: Filter = {
  name: "resources",
  signature: ({ spec: { gang } }) =>
    gang.taskGroups ?? [
      gang.workers,
      gang.minWorkers,
      gang.accelerators,
      gang.coresMilli,
      gang.memoryMib,
      // Nested lists are never identical, so work that needs a part of a device is compared by a key instead.
      needsPart(gang) ? partKey(gang) : undefined,
    ],
  basis: "work",
  wakeOn: [],
};
