/**
 * Named crash points of the driver's loop. Production passes no hook; crash tests pass one that kills the process at a
 * point.
 */
export const faultPoints = [
  /** Decided and applied in memory; nothing is written. */
  "before-append",
  /** The writer has the group; any part of it may be on disk. */
  "in-append",
  /** The group is synced; the engine has not advanced. */
  "after-sync-before-advance",
  /** Durable and advanced; no command has been answered. */
  "after-append-before-reply",
  /** Answered; no effect was performed. */
  "after-reply-before-launch",
  /** Effects were performed; no observation has arrived. */
  "after-launch-before-observation",
  /** An observation or a signal has arrived and is still in memory only. */
  "after-observation-before-append",
] as const;

export type FaultPoint = (typeof faultPoints)[number];

/** Called at each point. A promise holds the driver there until it settles. */
export type FaultHook = (point: FaultPoint) => void | Promise<void>;
