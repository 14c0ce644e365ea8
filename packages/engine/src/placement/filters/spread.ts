import { betweenWorkers, withoutConstraint } from "./between-workers.ts";
import type { Filter } from "./filter.ts";

/** Limits the number of workers on nodes that share a label value (`domainBudget`). */
export const spread: Filter = {
  signature: ({ spec }) => spec.spread,
  basis: "fleet",
  appliesTo: (_world, { spec }) => spec.spread !== undefined,
  check: "sets",
  wakeOn: [],
  ...betweenWorkers("spread", (request) => withoutConstraint(request, "spread")),
};
