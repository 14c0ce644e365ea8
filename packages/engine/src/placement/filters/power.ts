import { cappedDomainName } from "@headroom/model";
import type { BlockedReason, WorkerAllocation } from "@headroom/model";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import { leftOf } from "../../cluster/power-meters.ts";
import type { PowerMeter, PowerMeters } from "../../cluster/power-meters.ts";
import { metersFor } from "../power-budget.ts";
import type { Filter } from "./filter.ts";
import type { Inquiry } from "./inquiry.ts";

/** Limits the workers in domains with a cap on power or cooling (`domainBudget`). It costs nothing while no site has caps. */
export const power: Filter = {
  // Workers with equal amounts draw the same.
  signature: null,
  basis: "fleet",
  appliesTo: (world, request) => metersFor(world, request) !== null,
  check: "sets",
  wakeOn: ["siteDefined", "poolDefined"],
  explain: (inquiry) => {
    const isLimited = !inquiry.exceedsFleet && meterOf(inquiry) !== null;
    const placement = isLimited ? inquiry.place(freed(inquiry.request)) : null;
    return placement === null ? null : reasonOf(inquiry, placement.workers);
  },
  lack: (inquiry) =>
    meterOf(inquiry) !== null && inquiry.emptyFleetHolds && inquiry.fitsFleet(freed(inquiry.request))
      ? { of: "power" }
      : null,
};

const meterOf = ({ world, request }: Inquiry): PowerMeters | null => metersFor(world, request);
const freed = (request: PlacementRequest): PlacementRequest => request.with({ ignores: "power" });

/** Names the domain whose cap the place without caps would exceed most. */
function reasonOf(
  { world, request, placeableWorkers }: Inquiry,
  workers: readonly WorkerAllocation[],
): { readonly reasons: readonly BlockedReason[] } | null {
  const meters = metersFor(world, request);
  if (meters === null) return null;
  const draws = meters.drawsOf(request.gang, workers);
  const beyond = ([meter, draw]: readonly [PowerMeter, number]): number => draw - leftOf(meter, "idle");
  const [most] = [...draws].filter((each) => beyond(each) > 0).toSorted((left, right) => beyond(right) - beyond(left));
  if (most === undefined) return null;
  const [{ domain, nodesMilliwatts, takenMilliwatts }, draw] = most;
  return {
    reasons: [
      {
        kind: "powerCap",
        of: domain.of,
        domain: cappedDomainName(domain),
        capWatts: domain.watts,
        usedWatts: Math.ceil((nodesMilliwatts + takenMilliwatts) / 1000),
        neededWatts: Number.isFinite(draw) ? Math.ceil(draw / 1000) : null,
        workers: request.workers,
        placeableWorkers: placeableWorkers(),
      },
    ],
  };
}
