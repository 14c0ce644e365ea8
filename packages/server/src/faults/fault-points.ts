/**
 * Named points of the driver's loop at which tests crash the process. Production passes no hook; crash tests pass a
 * hook that kills the process at a point.
 */
export const faultPoints = [
  /** The batch is decided and applied in memory. Nothing is written. */
  "before-append",
  /** The writer has the group. Any part of the group may be on disk. */
  "in-append",
  /** The group is synced. The engine has not advanced. */
  "after-sync-before-advance",
  /** The batch is durable and the engine has advanced. No command has been answered. */
  "after-append-before-reply",
  /** Commands are answered. No effect was performed. */
  "after-reply-before-launch",
  /** Effects were performed. No observation has arrived. */
  "after-launch-before-observation",
  /** An observation or a signal has arrived. It is only in memory so far. */
  "after-observation-before-append",
] as const;

export type FaultPoint = (typeof faultPoints)[number];

/** Called at each point. If it returns a promise, the driver waits there until the promise settles. */
export type FaultHook = (point: FaultPoint) => void | Promise<void>;
