/** Makes the verdict of work that waits, with the events after which it may change. */
import type { EventKind } from "../../contract/events.ts";
import type { BlockedReason, Verdict } from "../../contract/verdicts.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import { isBeyondQuotas } from "../../placement/could-ever.ts";

export type BlockedVerdict = Verdict & { readonly kind: "blocked" };

export const blocked = (wakeOn: readonly EventKind[], ...reasons: readonly BlockedReason[]): BlockedVerdict => ({
  kind: "blocked",
  reasons,
  wakeOn,
});

export const withNever = (verdict: BlockedVerdict, neverStarts: boolean): BlockedVerdict =>
  neverStarts ? { ...verdict, neverStarts: true } : verdict;

/**
 * Events that enlarge the usable fleet or change its shape. Each filter adds its own events (`placement/filters`).
 */
export const FLEET_GROWS: readonly EventKind[] = [
  "nodeJoined",
  "nodeChanged",
  "nodeReturned",
  "nodeResumed",
  "hotSpareReleased",
  // The pool's accelerators may now be divided, or be of another type.
  "poolDefined",
];
/** Events after which a request that did not fit is tried again. */
export const FREEING: readonly EventKind[] = [
  "attemptEnded",
  "workersLeft",
  "joinFailed",
  "nominationWithdrawn",
  "policySet",
  ...FLEET_GROWS,
];
/** Events after which the head of the queue may change, or may start. */
export const HEAD_MOVES: readonly EventKind[] = [
  ...FREEING,
  "workloadEnded",
  "workloadStopRequested",
  "teamDefined",
  // The round skips a head that the fleet can no longer hold, or whose team has reached a limit.
  "gangPlaced",
  "nodeLost",
  "nodeDrainStarted",
  "hotSpareReserved",
];

/**
 * Whether no end of other work can place the request: it exceeds the empty fleet, alone exceeds the quotas on every
 * accelerator type that could hold it, or exceeds its team's reserved topology. A request that waits for an accelerator
 * type on request (`waitForType`) is not among these. `couldEver`: whether the usable fleet, if empty, could hold the
 * request.
 */
export function canNeverBePlaced(
  world: World,
  request: PlacementRequest,
  couldEver: boolean,
  reasons: readonly BlockedReason[],
): boolean {
  const [first] = reasons;
  if (!couldEver) {
    const lacksType = first?.kind === "exceedsFleet" && first.lack?.of === "type";
    return !(lacksType && request.spec.waitForType === true);
  }
  if (first?.kind === "reservedTopology") return first.team === null || first.neededCount > first.ownedCount;
  return isBeyondQuotas(world, request);
}
