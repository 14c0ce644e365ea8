import { longestDurationMs } from "../../usage/planned-duration.ts";
import { predictsRuns, runKindsOf } from "../../usage/run-times.ts";
import type { Filter } from "./filter.ts";

/**
 * Keeps requests from delaying protected starts (`backfill/`). A request fits if it ends before these starts, or on
 * capacity that they do not need.
 */
export const runTime: Filter = {
  name: "runTime",
  signature: ({ spec, actor }, { rules, calendar }) => {
    if (rules.backfill.protectedStarts === 0 && !calendar.hasWindows) return undefined;
    const durationMs = longestDurationMs(rules, spec);
    return predictsRuns(rules) ? `${durationMs} ${runKindsOf({ spec, actor })[0]}` : durationMs;
  },
  basis: "calendar",
  wakeOn: [],
};
