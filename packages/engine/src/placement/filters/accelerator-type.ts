import { typeOrder } from "@headroom/model";
import type { Filter } from "./filter.ts";

/**
 * The accelerator types that the workload accepts, in order of preference. A gang never mixes types
 * (`acceptableTypes`).
 */
export const acceleratorType: Filter = {
  signature: (workload) => {
    const types = workload.scale === undefined ? workload.spec.acceleratorTypes : typeOrder(workload);
    return types.length === 0 ? undefined : types;
  },
  check: "types",
  wakeOn: [],
  // If nodes of an accepted type exist, `resources` reports what they lack.
  explain: null,
  lack: ({ accepted }) => (accepted.length === 0 ? { of: "type" } : null),
};
