import type { Filter } from "./filter.ts";

/** At most so many workers on nodes that share a value of a label (`domainBudget`). */
export const spread: Filter = {
  name: "spread",
  signature: ({ spec }) => spec.spread,
  basis: "fleet",
  appliesTo: (_world, { spec }) => spec.spread !== undefined,
  wakeOn: [],
};
