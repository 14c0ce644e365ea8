import { isPreemptible } from "../../policy/preemptible.ts";
import type { Filter } from "./filter.ts";

/** Limits, guarantees, lending and budgets of the team and the teams above it; checked by type (`quotaReached`). */
export const quota: Filter = {
  name: "quota",
  signature: ({ spec, actor }, { rules, users }) => {
    const kind = isPreemptible(rules, spec) ? spec.team : `${spec.team} nonPreemptible`;
    return users.isKept ? `${kind} ${actor}` : kind;
  },
  basis: "work",
  wakeOn: ["teamDefined", "teamRemoved", "attemptStopRequested", "gangShrinkRequested"],
};
