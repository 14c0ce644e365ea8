import type { Filter } from "./filter.ts";

/** Only the nodes that a plan, or a gang's domain, allows. */
export const namedNodes: Filter = {
  name: "namedNodes",
  signature: () => undefined,
  basis: "work",
  appliesTo: (_world, { among }) => among !== null,
  check:
    (_world, { among }) =>
    ({ node }) =>
      among?.has(node.id) !== false,
  wakeOn: [],
};
