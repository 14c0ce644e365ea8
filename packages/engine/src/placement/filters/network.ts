import type { Filter } from "./filter.ts";

/** Network bandwidth that a worker reserves on its node; `NodeSlot.workersThatFit` checks it. */
export const network: Filter = {
  name: "network",
  signature: ({ spec }) => spec.gang.networkGbps,
  basis: "work",
  appliesTo: (_world, { gang }) => gang.networkGbps !== undefined,
  check:
    (_world, { gang: { networkGbps = 0 } }, layer) =>
    (slot) =>
      slot.networkLeft(layer) >= networkGbps,
  wakeOn: [],
};
