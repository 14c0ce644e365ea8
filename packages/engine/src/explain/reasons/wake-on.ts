/**
 * Events after which a verdict may change, whichever filter gave the reason. Each filter adds its own events
 * (`placement/filters`).
 */
import type { EventKind } from "../../contract/events.ts";

/** Events that enlarge the usable fleet or change its shape. */
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
