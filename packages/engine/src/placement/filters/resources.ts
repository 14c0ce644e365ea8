import type { GangSpec } from "../../model/workload.ts";
import type { Filter } from "./filter.ts";

/** Room for the workers on a node: accelerators or parts of them, cores, memory (`NodeSlot.workersThatFit`). */
export const resources: Filter = {
  name: "resources",
  signature: ({ spec: { gang } }) =>
    gang.taskGroups ??
    `${gang.workers} ${gang.minWorkers ?? ""} ${gang.accelerators} ${gang.coresMilli} ${gang.memoryMib} ${partOf(gang)}`,
  basis: "work",
  wakeOn: [],
};

const partOf = ({ shareMilli, profile }: GangSpec): string => profile ?? `${shareMilli ?? ""}`;
