import { abilityFilter } from "./ability-filter.ts";
import type { NodeFilter } from "./filter.ts";

/** Allows only pools whose executor runs work in container images, for work that names one. */
export const image: NodeFilter = abilityFilter({
  ability: "images",
  appliesTo: ({ image: name }) => name !== undefined,
  without: ({ image: _image, ...spec }) => spec,
  reason: ({ image: name = "" }, counts) => ({ kind: "image", image: name, ...counts }),
});
