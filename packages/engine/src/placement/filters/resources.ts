import { partKey } from "../../model/device-part.ts";
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
      partKey(gang),
    ],
  basis: "work",
  wakeOn: [],
};
