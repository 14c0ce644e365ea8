import type { Filter } from "./filter.ts";

/** Room for the workers on a node: accelerators or parts of them, cores, memory (`NodeSlot.workersThatFit`). */
export const resources: Filter = {
  name: "resources",
  signature: ({ spec: { gang } }) =>
    gang.taskGroups ?? [
      gang.workers,
      gang.minWorkers,
      gang.accelerators,
      gang.coresMilli,
      gang.memoryMib,
      gang.shareMilli,
      gang.profile,
    ],
  basis: "work",
  wakeOn: [],
};
