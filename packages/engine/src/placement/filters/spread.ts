import type { Filter } from "./filter.ts";

/** Limits the number of workers on nodes that share a label value (`domainBudget`). */
export const spread: Filter = {
  name: "spread",
  signature: ({ spec }) => spec.spread,
  basis: "fleet",
  appliesTo: (_world, { spec }) => spec.spread !== undefined,
  wakeOn: [],
};
