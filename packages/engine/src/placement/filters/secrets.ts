import { refusedSecret, secretNames } from "@headroom/model";
import { abilityFilter } from "./ability-filter.ts";
import type { NodeFilter } from "./filter.ts";

/** Allows only pools whose executor gives workers the secrets of its cluster that the work names. */
export const secrets: NodeFilter = abilityFilter({
  ability: "secrets",
  appliesTo: ({ secrets: named }) => named !== undefined,
  admits: ({ executors }, id, asker) => {
    const rules = executors.get(id)?.capabilities.secretRules;
    return rules === undefined || refusedSecret(rules, asker) === null;
  },
  signature: ({ spec: { secrets: named = {}, team }, actor }) => JSON.stringify([team, actor, ...secretNames(named)]),
  without: ({ secrets: _secrets, ...spec }) => spec,
  reason: (_spec, counts) => ({ kind: "secrets", ...counts }),
});
