/** A catalogue without types: every name means itself. */
import type { TypeCatalogue } from "../accelerator-names.ts";

export const ownNames: TypeCatalogue = {
  canonicalType: (name) => name,
  familyNamed: () => undefined,
  familyOfType: () => undefined,
  acceleratorTypeNames: [],
};
