/**
 * Changes that would start a waiting workload. A change is data: `changed-spec.ts` and `counterfactuals.ts` define its
 * meaning, `smallest-change.ts` finds the smallest of each kind. Kinds that the submitter can make alone come first,
 * then those of administrators, then waiting, and purchases last. With task groups, `group` names the affected one.
 */
import type { AntiAffinityFrom } from "../../model/anti-affinity.ts";
import type { NodeId, PoolName, TeamName, WorkloadId } from "../../model/ids.ts";
import type { StartWindowCondition } from "../../model/workload.ts";

export type Change =
  /** It is released. */
  | { readonly kind: "release" }
  /** It does not wait for its time; `atMs`: when that would have come. */
  | { readonly kind: "dropNotBefore"; readonly atMs: number }
  /** It does not mind what these conditions say of power. */
  | { readonly kind: "dropStartWindow"; readonly conditions: readonly StartWindowCondition[] }
  /** Another accelerator type is also accepted. */
  | { readonly kind: "otherType"; readonly acceleratorType: string; readonly group?: string }
  /** Nodes without these labels are also accepted. */
  | { readonly kind: "dropSelector"; readonly labels: readonly string[] }
  /** A wider fabric domain is allowed; `to` is `null`: anywhere. `slices`: for the workers of a slice. */
  | {
      readonly kind: "widerFabric";
      readonly from: string;
      readonly to: string | null;
      readonly slices: boolean;
      readonly group?: string;
    }
  /** More workers of the gang may carry one value of the label over which it is spread. */
  | { readonly kind: "widerSpread"; readonly topologyKey: string; readonly from: number; readonly to: number }
  /** It may be evicted for others. */
  | { readonly kind: "preemptible" }
  /** It does not keep apart in these ways, and is of none of these sets any more. */
  | { readonly kind: "dropAntiAffinity"; readonly terms: readonly AntiAffinityTerm[] }
  | { readonly kind: "shorterWalltime"; readonly fromMs: number | null; readonly toMs: number }
  /** For an elastic gang: a smaller minimum. */
  | { readonly kind: "fewerWorkers"; readonly from: number; readonly to: number; readonly group?: string }
  /** Per worker. */
  | { readonly kind: "fewerAccelerators"; readonly from: number; readonly to: number; readonly group?: string }
  | { readonly kind: "fewerCores"; readonly fromMilli: number; readonly toMilli: number; readonly group?: string }
  | { readonly kind: "lessMemory"; readonly fromMib: number; readonly toMib: number; readonly group?: string }
  | { readonly kind: "higherPriority"; readonly from: number; readonly to: number }
  /** `from` is `null` where the team states none of the resource. */
  | {
      readonly kind: "largerGuarantee";
      readonly team: TeamName;
      readonly resource: string;
      readonly from: number | null;
      readonly to: number;
    }
  /** `user`: it is what any one user of the team may hold, and this user's work has come to it; absent: the team's own limit. */
  | {
      readonly kind: "largerLimit";
      readonly team: TeamName;
      readonly resource: string;
      readonly from: number;
      readonly to: number;
      readonly user?: string;
    }
  /** Every used-up budget that blocks it is raised to the next whole GPU-hour or dollar above its usage. */
  | { readonly kind: "largerBudget"; readonly budgets: readonly LargerBudget[] }
  /** These nodes, which are drained, take work again. */
  | { readonly kind: "resumeNodes"; readonly nodes: readonly NodeId[] }
  /** The window begins so much later, in whole minutes, and lasts as long. */
  | {
      readonly kind: "laterWindow";
      readonly name: string;
      readonly window: "maintenance" | "reservation";
      readonly fromMs: number;
      readonly toMs: number;
    }
  /** Fewer nodes of the pool are kept as spares. */
  | { readonly kind: "fewerHotSpares"; readonly pool: PoolName; readonly from: number; readonly to: number }
  /** These pools also admit work under its data rule. */
  | { readonly kind: "admitData"; readonly rule: string; readonly pools: readonly PoolName[] }
  /**
   * This number of running attempts have ended, in the order of expected ends; the last of them belongs to this
   * workload, and ends at this instant.
   */
  | {
      readonly kind: "afterEnds";
      readonly count: number;
      readonly workloadId: WorkloadId;
      readonly expectedAtMs: number;
    }
  /** Nodes like this one have joined. */
  | { readonly kind: "moreNodes"; readonly count: number; readonly acceleratorType: string; readonly like: NodeId };

/** `alone`: no other work on its nodes. `of`: its own set. Otherwise the excluded set and the domain. */
export type AntiAffinityTerm = { readonly exclusive: true } | { readonly of: string } | AntiAffinityFrom;

/** A budget of a team; money in micro-dollars. */
export interface LargerBudget {
  readonly team: TeamName;
  readonly resource: "gpuHours" | "money";
  readonly from: number;
  readonly to: number;
}

export type ChangeKind = Change["kind"];

/** The order in which changes are offered: the cheapest kind first. */
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

/** Work that would be evicted, or shrunk, for it. */
export interface Displaced {
  readonly workloadId: WorkloadId;
  readonly workers: number;
  /** Remaining workers; 0: it is evicted completely. */
  readonly keeps: number;
  /** Accelerator-milliseconds of work that would be lost: what ran since the last checkpoint, and starting again. */
  readonly lostAcceleratorMs: number;
}

/** How it would start. */
export interface WouldStart {
  readonly acceleratorType: string;
  readonly nodes: readonly NodeId[];
  /** False: as soon as terminating work has ended. */
  readonly atOnce: boolean;
  /** Work that is evicted for it. */
  readonly displaced: readonly Displaced[];
}

export interface StartingChange {
  readonly change: Change;
  readonly start: WouldStart;
}
