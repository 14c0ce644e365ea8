import type { Filter } from "./filter.ts";

/**
 * The accelerator types that the workload accepts, in order of preference. A gang never mixes types
 * (`acceptableTypes`).
 */
export const acceleratorType: Filter = {
  name: "acceleratorType",
  signature: ({ spec: { acceleratorTypes } }) => (acceleratorTypes.length === 0 ? undefined : acceleratorTypes),
  basis: "fleet",
  wakeOn: [],
};
