import { isPreemptible } from "../../policy/preemptible.ts";
import type { Filter } from "./filter.ts";

/** Limits, guarantees, lending and budgets of the team and the teams above it; checked by type (`quotaReached`). */
export const quota: Filter = {
  name: "quota",
  // A list instead of a text: a concatenated text for every submission would have to be flattened for comparison.
  signature: ({ spec, actor }, { rules, users }) => {
    const isPreemptibleWork = isPreemptible(rules, spec);
    if (users.isKept) return [spec.team, isPreemptibleWork, actor];
    return isPreemptibleWork ? spec.team : [spec.team];
  },
  basis: "work",
  wakeOn: ["teamDefined", "teamRemoved", "attemptStopRequested", "gangShrinkRequested"],
};
