/** The time of a node's accelerators that nobody holds. */
import type { UsageState } from "./row.ts";

export interface NodeAccount {
  readonly node: string;
  site: string;
  pool: string;
  acceleratorType: string;
  capacityMilli: number;
  heldMilli: number;
  /** Thousandths of accelerators that work uses which Headroom does not run. */
  foreignMilli: number;
  isLost: boolean;
  isDraining: boolean;
  isRemoved: boolean;
  isHotSpare: boolean;
  /** Since when the amount that nobody holds, and its reason, are the same. */
  sinceMs: number;
}

/** Thousandths of accelerators that nobody holds. A node that shrank under running work has none. */
export const freeMilli = (account: NodeAccount): number => unheldMilli(account) - foreignMilliOf(account);

/** Thousandths of accelerators that foreign work uses; none on a lost node, of which nobody knows. */
export const foreignMilliOf = (account: NodeAccount): number =>
  account.isLost ? 0 : Math.min(account.foreignMilli, unheldMilli(account));

const unheldMilli = ({ capacityMilli, heldMilli }: NodeAccount): number => Math.max(0, capacityMilli - heldMilli);

/** Why nobody holds them. */
export function freeReason({ isLost, isDraining, isRemoved, isHotSpare }: NodeAccount): {
  readonly state: UsageState;
  readonly cause: string;
} {
  if (isLost) return { state: "lost", cause: "nodeLost" };
  if (isDraining || isRemoved) return { state: "idle", cause: "drained" };
  return { state: "idle", cause: isHotSpare ? "hotSpare" : "free" };
}
