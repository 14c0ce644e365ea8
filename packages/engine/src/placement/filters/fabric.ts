import { betweenWorkers, withoutConstraint } from "./between-workers.ts";
import type { Filter } from "./filter.ts";

/**
 * Places all workers in one domain of the fabric, in few domains, or in slices (`fabric-choice.ts`,
 * `fabric-fewest.ts`).
 */
export const fabric: Filter = {
  signature: ({ spec }) => spec.fabric,
  basis: "fleet",
  appliesTo: (_world, { spec }) => spec.fabric !== undefined,
  check: "sets",
  wakeOn: [],
  ...betweenWorkers("fabric", (request) => withoutConstraint(request, "fabric")),
};
