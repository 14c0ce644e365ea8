import { dataPlaces } from "./data-places.ts";
import type { Filter } from "./filter.ts";

/** A preference for nodes that store most of the workload's input data sets (`inputsHeldMin`). */
export const dataInputs: Filter = {
  // Versions that work was given decide its transfers too (`transfers`, `runTime`).
  signature: ({ spec: { data }, given }) =>
    data?.inputs === undefined || given === undefined
      ? data?.inputs
      : [...data.inputs, ...given.map(({ name, version = "" }) => `${name} ${version}`)],
  basis: "work",
  appliesTo: (_world, { spec }) => spec.data?.inputs !== undefined,
  check: (world, { spec, inputsHeldMin }) => {
    const data = dataPlaces(world, spec);
    return (slot) => data.held(slot) >= inputsHeldMin;
  },
  wakeOn: [],
  // A preference: at last any node will do.
  explain: null,
};
