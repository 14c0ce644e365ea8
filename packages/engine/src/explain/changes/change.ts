/**
 * What could be different so that something that waits would start now. A change is data: `changed-spec.ts` and `trials.ts`
 * say what it means, `smallest-change.ts` finds the smallest of each kind. Kinds that whoever submitted the work can make
 * alone come first, then those that somebody with more rights makes, then time, and what has to be bought comes last. Where a
 * gang has groups, `group` names the one that is meant.
 */
import type { AntiAffinityFrom } from "../../model/anti-affinity.ts";
import type { NodeId, PoolName, TeamName, WorkloadId } from "../../model/ids.ts";
import type { StartWindowCondition } from "../../model/workload.ts";

export type Change =
  /** Whoever holds it releases it. */
  | { readonly kind: "release" }
  /** It does not wait for its time; `atMs`: when that would have come. */
  | { readonly kind: "dropNotBefore"; readonly atMs: number }
  /** It does not mind what these conditions say of power. */
  | { readonly kind: "dropStartWindow"; readonly conditions: readonly StartWindowCondition[] }
  /** Another accelerator type would do as well. */
  | { readonly kind: "otherType"; readonly acceleratorType: string; readonly group?: string }
  /** Nodes without these labels would do as well. */
  | { readonly kind: "dropSelector"; readonly labels: readonly string[] }
  /** A wider domain of the fabric would do; `to` is `null`: anywhere. `slices`: it is the slices that may lie so far apart. */
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
  /** Of an elastic gang: fewer at the least. */
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
  /** Of every budget that is used up and keeps it from starting, the least whole GPU-hours or dollars that are more than was used. */
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
  /** Work under the rule that its data are under may run in these pools as well. */
  | { readonly kind: "admitData"; readonly rule: string; readonly pools: readonly PoolName[] }
  /** So many running attempts have ended, those that are expected to end first; the last of them is of this workload, at this instant. */
  | {
      readonly kind: "afterEnds";
      readonly count: number;
      readonly workloadId: WorkloadId;
      readonly expectedAtMs: number;
    }
  /** Nodes like this one have joined. */
  | { readonly kind: "moreNodes"; readonly count: number; readonly acceleratorType: string; readonly like: NodeId };

/** `alone`: nobody else is on its nodes. `of`: it belongs to the set. Else whom it keeps away from, and where. */
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

/** Work that would be asked to leave, or to shrink, for it. */
export interface Displaced {
  readonly workloadId: WorkloadId;
  readonly workers: number;
  /** Workers that it goes on with; 0: it leaves whole. */
  readonly keeps: number;
  /** Accelerator-milliseconds of work that would be lost: what ran since the last checkpoint, and starting again. */
  readonly lostAcceleratorMs: number;
}

/** How it would start. */
export interface WouldStart {
  readonly acceleratorType: string;
  readonly nodes: readonly NodeId[];
  /** False: as soon as those who are asked to leave, for it or for others, have left. */
  readonly atOnce: boolean;
  /** Who is asked to leave for it. */
  readonly displaced: readonly Displaced[];
}

export interface StartingChange {
  readonly change: Change;
  readonly start: WouldStart;
}
