import type { Filter } from "./filter.ts";

/**
 * The accelerator types that the workload accepts, in order of preference. A gang never mixes types
 * (`acceptableTypes`).
 */
export const acceleratorType: Filter = {
  signature: ({ spec: { acceleratorTypes } }) => (acceleratorTypes.length === 0 ? undefined : acceleratorTypes),
  check: "types",
  wakeOn: [],
  // If nodes of an accepted type exist, `resources` reports what they lack.
  explain: null,
  lack: ({ accepted }) => (accepted.length === 0 ? { of: "type" } : null),
};
