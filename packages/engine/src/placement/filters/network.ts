import type { Filter } from "./filter.ts";

/** Requires free network bandwidth on the node for each worker. `NodeSlot.workersThatFit` checks it. */
export const network: Filter = {
  signature: ({ spec }) => spec.gang.networkGbps,
  basis: "work",
  appliesTo: (_world, { gang }) => gang.networkGbps !== undefined,
  check:
    (_world, { gang: { networkGbps = 0 } }, layer) =>
    (slot) =>
      slot.networkLeft(layer) >= networkGbps,
  wakeOn: [],
  // `resources` compares all amounts of a node and reports the one that is short.
  explain: null,
};
