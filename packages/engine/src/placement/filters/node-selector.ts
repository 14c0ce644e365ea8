import type { Filter } from "./filter.ts";

/** Allows only nodes that carry the labels of the node selector. */
export const nodeSelector: Filter = {
  signature: ({ spec }) => spec.nodeSelector,
  basis: "fleet",
  appliesTo: (_world, { spec }) => spec.nodeSelector !== undefined,
  check: (_world, { spec }) => {
    const wanted = Object.entries(spec.nodeSelector ?? {});
    return ({ node: { labels } }) => {
      for (const [label, value] of wanted) if (labels?.[label] !== value) return false;
      return true;
    };
  },
  wakeOn: [],
  // If the nodes with these labels could hold the request, `resources` reports what they lack.
  explain: null,
  lack: ({ request: { spec, gang, workers }, accepted, emptyFleetHolds }) =>
    spec.nodeSelector !== undefined && !emptyFleetHolds && accepted.some((nodes) => nodes.typeHolds(gang) >= workers)
      ? { of: "nodeSelector" }
      : null,
};
