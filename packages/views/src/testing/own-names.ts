/** A catalogue without types, in which every name stands for itself. */
import type { TypeCatalogue } from "../accelerator-names.ts";

export const ownNames: TypeCatalogue = {
  canonicalType: (name) => name,
  familyNamed: () => undefined,
  familyOfType: () => undefined,
  powerOfType: () => undefined,
  acceleratorTypeNames: [],
};
