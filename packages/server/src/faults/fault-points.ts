/**
 * Named instants of the driver's loop at which a crash is interesting. Production passes nothing; the crash tests pass
 * a hook that kills the process at one of them.
 */
export const faultPoints = [
  /** Decided and applied in memory, nothing written. */
  "before-append",
  /** The writer has the group; how much of it is on disk is anybody's guess. */
  "in-append",
  /** The writer says that the group is synced; the engine has not been told. */
  "after-sync-before-advance",
  /** Durable and advanced; nobody has been answered. */
  "after-append-before-reply",
  /** Answered; no executor has been asked for anything. */
  "after-reply-before-launch",
  /** Executors were asked; none of their observations is in. */
  "after-launch-before-observation",
  /** An observation or a signal has arrived and is still in memory only. */
  "after-observation-before-append",
] as const;

export type FaultPoint = (typeof faultPoints)[number];

/** Called at each point. A promise holds the driver there until it settles. */
export type FaultHook = (point: FaultPoint) => void | Promise<void>;
