/**
 * Bursting: a pool whose nodes come and go with demand. The engine orders nodes for work that fits nowhere, and releases
 * extra nodes that are idle. A provisioner outside the engine starts and stops the machines.
 */
import type { NodeId, WorkloadId } from "./ids.ts";

/** Rules under which the engine may order nodes for a pool. */
export interface BurstRule {
  /** Name of the provisioner; `MANUAL_PROVISIONER`: a person orders the nodes. */
  readonly provisioner: string;
  /** Most extra nodes at a time, those that are coming included. */
  readonly nodesMax: number;
  /** Amounts of each ordered node. */
  readonly acceleratorCount: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /** Time from the order until the nodes take work: the middle, and what 95% of the orders keep. */
  readonly leadTimeMs: number;
  readonly leadTimeP95Ms: number;
  /** Work must have waited this long before nodes are ordered for it. */
  readonly orderAfterMs: number;
  /** A node that was idle for this long is released. */
  readonly releaseAfterMs: number;
  /** Most nodes that are ordered on one day (UTC). Absent: not limited. */
  readonly nodesPerDay?: number;
  /** Most money that the extra nodes of the pool may cost in 24 hours, if none of them is released. Absent: not limited. */
  readonly microUsdPerDay?: number;
}

/** Nodes are ordered and removed by a person. */
export const MANUAL_PROVISIONER = "manual";

/** The engine's memory about a pool for which it has ordered nodes. */
export interface BurstAccount {
  readonly pool: string;
  /** Number of orders that were ever decided, for the names of orders. */
  readonly orderCount: number;
  /** Start of the day (UTC) that `dayNodes` counts, and the nodes that were ordered on it. */
  readonly dayStartMs: number;
  readonly dayNodes: number;
  /** Failed orders in a row, and the instant until which no nodes are ordered because of them. */
  readonly failures: number;
  readonly blockedUntilMs: number;
}

/** Why the engine ordered nodes, in numbers. */
export interface BurstGround {
  /** Waiting workloads for which the nodes are ordered, at most `GROUND_WORKLOADS_MAX`, and their number. */
  readonly workloads: readonly WorkloadId[];
  readonly workloadCount: number;
  /** Tasks of these workloads that the nodes hold. */
  readonly taskCount: number;
  /** Longest wait among them. */
  readonly waitedMs: number;
  /** Extra nodes of the pool before the order, those that were coming included. */
  readonly extraNodes: number;
  /** Cost of the ordered nodes in an hour. */
  readonly microUsdPerHour: number;
  /** Other pools that could have held the work, with the nodes that they would have needed. */
  readonly dearerPools: readonly { readonly pool: string; readonly nodes: number; readonly microUsdPerHour: number }[];
}

export const GROUND_WORKLOADS_MAX = 200;

/** The part of an order that only orders of the engine have. */
export interface AutomaticOrder {
  readonly provisioner: string;
  readonly decidedAtMs: number;
  readonly releaseAfterMs: number;
  readonly ground: BurstGround;
  /** Nodes that the provisioner named, and nodes that joined. */
  readonly nodeNames: readonly NodeId[];
  /** The newest statement of the provisioner. Empty: it made none. */
  readonly detail: string;
  /**
   * The id under which the provisioner knows the order: unique over control planes, so that two of them on one cloud account never
   * take each other's machines. `null`: not drawn yet. Absent: an order of an earlier release, known by its name, or a manual one.
   */
  readonly requestId?: string | null;
  /** The order has failed, and this number of its nodes never joined. Their machines may exist. */
  readonly missingCount?: number;
}

/** Why nodes of an order are released. `ended`: a person cancelled the order. */
export type ReleaseReason = "idle" | "lost" | "ended";

/** An order without all of its nodes after this time has failed. Provisioners are slow, so the bound is generous. */
export const giveUpMsOf = (p95Ms: number): number => 3 * p95Ms + 60_000;

const BACK_OFF_MS = 60_000;
const BACK_OFF_MAX_MS = 3_600_000;

/** Time without orders after this number of failures in a row. */
export function burstBackOffMs(failures: number): number {
  let pauseMs = BACK_OFF_MS;
  for (let failure = 1; failure < failures && pauseMs < BACK_OFF_MAX_MS; failure++) pauseMs *= 2;
  return Math.min(BACK_OFF_MAX_MS, pauseMs);
}

export const newBurstAccount = (pool: string): BurstAccount => ({
  pool,
  orderCount: 0,
  dayStartMs: 0,
  dayNodes: 0,
  failures: 0,
  blockedUntilMs: 0,
});
