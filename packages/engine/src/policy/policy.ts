/**
 * A policy is data: every knob of a round in one closed record. Presets (`presets.ts`) bundle order, placement and
 * admission; comparing with another system is running this engine under another policy.
 */
export interface Policy {
  readonly name: string;
  /**
   * Who goes first, most significant key first; every order ends in the order of submission. `priority`: larger first.
   * `walltime`: shorter first, unlimited last. `submitted`: nothing but the order of submission.
   */
  readonly order: readonly OrderKey[];
  /** `stop`: nothing starts past the first that does not fit; who is held by a team's limit, or by a fleet too small for it, waits aside. `skip`: whatever fits starts, in order, without reservations. */
  readonly whenHeadBlocked: "stop" | "skip";
  /** `pack`: the node with the fewest free accelerators that fits. `spread`: the one with the most. Ties: the node that joined first. */
  readonly placement: "pack" | "spread";
  /** Work that the fleet could not hold even if it were empty: `hold` keeps it waiting and lets others pass; `reject` refuses it. */
  readonly exceedsFleet: "hold" | "reject";
}

export type OrderKey = "submitted" | "priority" | "walltime";
