import { abilityFilter } from "./ability-filter.ts";
import type { NodeFilter } from "./filter.ts";

/** Allows only pools whose executor gives workers secrets of its cluster, for work that names some. */
export const secrets: NodeFilter = abilityFilter({
  ability: "secrets",
  appliesTo: ({ secrets: named }) => named !== undefined,
  without: ({ secrets: _secrets, ...spec }) => spec,
  reason: (_spec, counts) => ({ kind: "secrets", ...counts }),
});
