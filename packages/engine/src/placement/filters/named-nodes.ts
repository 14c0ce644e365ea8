import type { Filter } from "./filter.ts";

/** Allows only the nodes to which a plan, or the domain of a running gang, limits the request. */
export const namedNodes: Filter = {
  signature: null,
  basis: "work",
  appliesTo: (_world, { among }) => among !== null,
  check:
    (_world, { among }) =>
    ({ node }) =>
      among?.has(node.id) !== false,
  wakeOn: [],
  // Limits the variants of a plan. No request in the queue names nodes.
  explain: null,
};
