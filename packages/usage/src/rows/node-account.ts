/** The time of a node's accelerators that nobody holds. */
import type { UsageState } from "./row.ts";

export interface NodeAccount {
  readonly node: string;
  site: string;
  pool: string;
  acceleratorType: string;
  capacityMilli: number;
  heldMilli: number;
  isLost: boolean;
  isDraining: boolean;
  isRemoved: boolean;
  isHotSpare: boolean;
  /** Since when the amount that nobody holds, and its reason, are the same. */
  sinceMs: number;
}

/** Thousandths of accelerators that nobody holds. A node that shrank under running work has none. */
export const freeMilli = ({ capacityMilli, heldMilli }: NodeAccount): number => Math.max(0, capacityMilli - heldMilli);

/** Why nobody holds them. */
export function freeReason({ isLost, isDraining, isRemoved, isHotSpare }: NodeAccount): {
  readonly state: UsageState;
  readonly cause: string;
} {
  if (isLost) return { state: "lost", cause: "nodeLost" };
  if (isDraining || isRemoved) return { state: "idle", cause: "drained" };
  return { state: "idle", cause: isHotSpare ? "hotSpare" : "free" };
}
