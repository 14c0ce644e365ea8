/** Events after which a verdict may change, whichever filter gave the reason; each filter adds its own (`placement/filters`). */
import type { EventKind } from "../../contract/events.ts";

/** Kinds of event that make the usable fleet larger, or other. */
export const FLEET_GROWS: readonly EventKind[] = [
  "nodeJoined",
  "nodeChanged",
  "nodeReturned",
  "nodeResumed",
  "hotSpareReleased",
  // Its accelerators may be divided now, or of another type.
  "poolDefined",
];
/** Kinds of event after which something that did not fit may fit. */
export const FREEING: readonly EventKind[] = [
  "attemptEnded",
  "workersLeft",
  "joinFailed",
  "nominationWithdrawn",
  "policySet",
  ...FLEET_GROWS,
];
/** Kinds of event after which another may be the head of the queue, or the head may move. */
export const HEAD_MOVES: readonly EventKind[] = [
  ...FREEING,
  "workloadEnded",
  "workloadStopRequested",
  "teamDefined",
  // A head that the smaller fleet could no longer hold waits aside, and so does one whose team has come to its limit.
  "gangPlaced",
  "nodeLost",
  "nodeDrainStarted",
  "hotSpareReserved",
];
