import type { Filter } from "./filter.ts";

/**
 * Places all workers in one domain of the fabric, in few domains, or in slices (`fabric-choice.ts`,
 * `fabric-fewest.ts`).
 */
export const fabric: Filter = {
  name: "fabric",
  signature: ({ spec }) => spec.fabric,
  basis: "fleet",
  appliesTo: (_world, { spec }) => spec.fabric !== undefined,
  wakeOn: [],
};
