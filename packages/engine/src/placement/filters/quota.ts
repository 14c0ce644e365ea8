import { isPreemptible } from "../../policy/preemptible.ts";
import type { Filter } from "./filter.ts";

/**
 * Limits, guarantees, lending and budgets of the team and the teams above it, checked by accelerator type
 * (`quotaReached`).
 */
export const quota: Filter = {
  name: "quota",
  // A list and not a string: V8 would copy a concatenated string of every submission before it compares it.
  signature: ({ spec, actor }, { rules, users }) => {
    const isPreemptibleWork = isPreemptible(rules, spec);
    if (users.isKept) return [spec.team, isPreemptibleWork, actor];
    return isPreemptibleWork ? spec.team : [spec.team];
  },
  basis: "work",
  wakeOn: ["teamDefined", "teamRemoved", "attemptStopRequested", "gangShrinkRequested"],
};
