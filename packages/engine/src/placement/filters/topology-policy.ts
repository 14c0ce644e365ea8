import { placementStrategy } from "../strategy.ts";
import type { Filter } from "./filter.ts";

/**
 * Applies if the policy places every request by the fabric: by a placement strategy, or in the fewest domains. A strategy
 * adds its own signature (`strategies/registry.ts`) and gives the reason.
 */
export const topologyPolicy: Filter = {
  signature: null,
  basis: "work",
  appliesTo: ({ rules: { fabric } }) =>
    fabric.placedBy !== null || (fabric.choose === "fewest" && fabric.unconstrainedToFullest),
  check: "sets",
  wakeOn: ["teamDefined", "opportunisticJobRelabelled"],
  explain: ({ world, request, exceedsFleet }) => {
    const reason = exceedsFleet ? null : (placementStrategy(world, request)?.explain(world, request) ?? null);
    return reason === null ? null : { reasons: [reason] };
  },
};
