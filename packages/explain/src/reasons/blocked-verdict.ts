/** Builds the verdict of work that waits, with the kinds of events after which the verdict may change. */
import type { EventKind, BlockedReason, Verdict } from "@headroom/model";
import { isBeyondQuotas } from "@headroom/engine/internals";
import type { PlacementRequest, World } from "@headroom/engine/internals";

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
  "nodeRelabelled",
  "nodeReturned",
  "nodeResumed",
  "nodeQualificationEnded",
  "nodeRemovalCancelled",
  "hotSpareReleased",
  "executorReturned",
  "executorDeclared",
  // The pool's accelerators may now be divided, or be of another type.
  "poolDefined",
];
/** Events after which a request that did not fit is tried again. */
export const FREEING: readonly EventKind[] = [
  "attemptEnded",
  "workersLeft",
  "joinFailed",
  "nominationWithdrawn",
  "foreignUseChanged",
  "policySet",
  ...FLEET_GROWS,
];
/** Events after which another request may be the head of the queue, or the head may start. */
export const HEAD_MOVES: readonly EventKind[] = [
  ...FREEING,
  "workloadEnded",
  "workloadStopRequested",
  "teamDefined",
  // These events can make the round skip the head: the fleet can no longer hold it, or its team has reached a limit.
  "gangPlaced",
  "nodeLost",
  "nodeDrainStarted",
  "nodeRemovalRequested",
  "nodeRemoved",
  "executorLost",
  "executorRemoved",
  "hotSpareReserved",
];

/**
 * Whether the request cannot be placed however much other work ends. It exceeds the empty fleet, its team's reserved
 * topology, or, by itself, the quotas on every accelerator type that could hold it. A request with `waitForType` that
 * waits for an absent accelerator type does not count. `couldEver` states whether the usable fleet, if empty, could
 * hold the request.
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
