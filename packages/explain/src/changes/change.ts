/**
 * Changes that would start a waiting workload. A change is data: `own-changes.ts`, `other-changes.ts` and
 * `fleet-changes.ts` list candidates, `counterfactuals.ts` runs one on a fork, `smallest-change.ts` finds the smallest of each kind. Kinds are ordered: changes that the submitter can make, changes
 * that administrators can make, ends of running work, purchases. The field `group` names the affected task group.
 */
import type { AntiAffinityFrom, NodeId, PoolName, TeamName, WorkloadId, StartWindowCondition } from "@headroom/model";

export type Change =
  /** The workload is released from its hold. */
  | { readonly kind: "release" }
  /** The workload starts without waiting for its start time `atMs`. */
  | { readonly kind: "dropNotBefore"; readonly atMs: number }
  /** These conditions on the price or carbon of power are removed from the workload's start window. */
  | { readonly kind: "dropStartWindow"; readonly conditions: readonly StartWindowCondition[] }
  /** The workload also accepts this accelerator type. */
  | { readonly kind: "otherType"; readonly acceleratorType: string; readonly group?: string }
  /** The workload also accepts nodes without these labels. */
  | { readonly kind: "dropSelector"; readonly labels: readonly string[] }
  /**
   * A wider domain of the fabric is allowed. If `to` is `null`, any nodes are allowed. With `slices`, the change is to
   * the domain of each slice of the gang, not of the whole gang.
   */
  | {
      readonly kind: "widerFabric";
      readonly from: string;
      readonly to: string | null;
      readonly slices: boolean;
      readonly group?: string;
    }
  /** The maximum number of workers per value of the topology key is raised. */
  | { readonly kind: "widerSpread"; readonly topologyKey: string; readonly from: number; readonly to: number }
  /** The workload becomes preemptible. */
  | { readonly kind: "preemptible" }
  /** The workload loses these anti-affinity rules, or its membership in anti-affinity sets. */
  | { readonly kind: "dropAntiAffinity"; readonly terms: readonly AntiAffinityTerm[] }
  | { readonly kind: "shorterWalltime"; readonly fromMs: number | null; readonly toMs: number }
  /** The gang gets fewer workers; an elastic gang gets a smaller minimum. */
  | { readonly kind: "fewerWorkers"; readonly from: number; readonly to: number; readonly group?: string }
  /** Fewer accelerators per worker. */
  | { readonly kind: "fewerAccelerators"; readonly from: number; readonly to: number; readonly group?: string }
  | { readonly kind: "fewerCores"; readonly fromMilli: number; readonly toMilli: number; readonly group?: string }
  | { readonly kind: "lessMemory"; readonly fromMib: number; readonly toMib: number; readonly group?: string }
  | { readonly kind: "lessNetwork"; readonly fromGbps: number; readonly toGbps: number; readonly group?: string }
  | { readonly kind: "higherPriority"; readonly from: number; readonly to: number }
  /** The team's guarantee of the resource grows. `from` is `null` if the team states no guarantee for the resource. */
  | {
      readonly kind: "largerGuarantee";
      readonly team: TeamName;
      readonly resource: string;
      readonly from: number | null;
      readonly to: number;
    }
  /**
   * A team's limit grows. With `user`, it is the limit on each user of the team, which this user's work has reached;
   * without, the team's own limit.
   */
  | {
      readonly kind: "largerLimit";
      readonly team: TeamName;
      readonly resource: string;
      readonly from: number;
      readonly to: number;
      readonly user?: string;
    }
  /** Every used-up budget that blocks the workload is raised to the next whole GPU-hour or dollar above its usage. */
  | { readonly kind: "largerBudget"; readonly budgets: readonly LargerBudget[] }
  /** These drained nodes are resumed. */
  | { readonly kind: "resumeNodes"; readonly nodes: readonly NodeId[] }
  /** The calendar window begins later, by whole minutes, and keeps its length. */
  | {
      readonly kind: "laterWindow";
      readonly name: string;
      readonly window: "maintenance" | "reservation";
      readonly fromMs: number;
      readonly toMs: number;
    }
  /** Fewer nodes of the pool are reserved as hot spares. */
  | { readonly kind: "fewerHotSpares"; readonly pool: PoolName; readonly from: number; readonly to: number }
  /** These pools also admit work under the workload's data rule. */
  | { readonly kind: "admitData"; readonly rule: string; readonly pools: readonly PoolName[] }
  /**
   * This number of running attempts end first, in the order of their expected ends. `workloadId` and `expectedAtMs`
   * describe the last of these attempts.
   */
  | {
      readonly kind: "afterEnds";
      readonly count: number;
      readonly workloadId: WorkloadId;
      readonly expectedAtMs: number;
    }
  /** Nodes of the same shape as `like` join the fleet. */
  | { readonly kind: "moreNodes"; readonly count: number; readonly acceleratorType: string; readonly like: NodeId };

/**
 * An anti-affinity rule of the workload. `exclusive`: no other work may run on its nodes. `of`: the workload belongs to
 * a set that other work avoids. The third form names a set that the workload avoids, with its topology key.
 */
export type AntiAffinityTerm = { readonly exclusive: true } | { readonly of: string } | AntiAffinityFrom;

/** A budget of a team. Amounts of money are in micro-dollars. */
export interface LargerBudget {
  readonly team: TeamName;
  readonly resource: "gpuHours" | "money";
  readonly from: number;
  readonly to: number;
}

export type ChangeKind = Change["kind"];

/** The order in which changes are listed: the cheapest kind first. */
export const CHANGE_KINDS: readonly ChangeKind[] = [
  "release",
  "dropNotBefore",
  "dropStartWindow",
  "otherType",
  "dropSelector",
  "widerFabric",
  "widerSpread",
  "preemptible",
  "dropAntiAffinity",
  "shorterWalltime",
  "fewerWorkers",
  "fewerAccelerators",
  "fewerCores",
  "lessMemory",
  "lessNetwork",
  "higherPriority",
  "largerGuarantee",
  "largerLimit",
  "largerBudget",
  "resumeNodes",
  "laterWindow",
  "fewerHotSpares",
  "admitData",
  "afterEnds",
  "moreNodes",
];

/** A running workload that would be evicted or shrunk for the start. */
export interface Displaced {
  readonly workloadId: WorkloadId;
  readonly workers: number;
  /** Number of workers that continue. 0 if the workload is evicted completely. */
  readonly keeps: number;
  /** Work that would be lost, in accelerators times ms: the time since the last checkpoint, and the restart. */
  readonly lostAcceleratorMs: number;
}

/** Placement and victims of the start that a change leads to. */
export interface WouldStart {
  readonly acceleratorType: string;
  readonly nodes: readonly NodeId[];
  /** Whether the workload starts immediately. If not, it starts when terminating work has ended. */
  readonly atOnce: boolean;
  /** Workloads that are evicted or shrunk for the start. */
  readonly displaced: readonly Displaced[];
}

export interface StartingChange {
  readonly change: Change;
  readonly start: WouldStart;
}
