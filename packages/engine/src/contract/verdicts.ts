/**
 * The engine's answer to "why does it wait", in numbers. The first reason is the dominant one. `wakeOn` names the kinds of
 * event that could change the answer; until one of them happens, asking again gives the same.
 */
import type { WorkloadId } from "../model/ids.ts";
import type { Prediction } from "../model/workload.ts";
import type { EventKind } from "./events.ts";

export type QuotaBound = "limit" | "user" | "guarantee" | "borrowing" | "budget";

/**
 * What a fleet on which nothing runs lacks: nodes of a type that will do; a device with such a part; an amount, of which a worker
 * needs so much and no node that it accepts has more than so much; nodes with the labels that it asks for; or room for its workers
 * as they wish to lie to each other.
 */
export type FleetLack =
  | { readonly of: "type" }
  | { readonly of: "part"; readonly profile: string }
  | {
      readonly of: "accelerators" | "cores" | "memory";
      readonly perWorker: number;
      readonly perNodeMax: number;
    }
  | { readonly of: "nodeSelector" | "spread" | "fabric" };

/** Counts of accelerators are of nodes that the work accepts, by their labels and by the rule that its data are under; a part counts as its part. */
export type BlockedReason =
  /** The fleet as it is up now could not hold the gang even if it were empty. `fleetCount`: of the type it has most of. */
  | {
      readonly kind: "exceedsFleet";
      /** The first group of its gang for which there is no room beside the others; absent: the gang has no groups. */
      readonly group?: string;
      readonly acceleratorTypes: readonly string[];
      readonly workers: number;
      readonly placeableWorkers: number;
      readonly neededCount: number;
      readonly fleetCount: number;
      /** Absent: a group that would find room alone, or wishes that only together are too many. */
      readonly lack?: FleetLack;
    }
  /** Fewer free accelerators than needed on any one type: a gang never mixes types. The counts are of the type with most free. */
  | {
      readonly kind: "acceleratorShortfall";
      readonly group?: string;
      readonly acceleratorTypes: readonly string[];
      readonly neededCount: number;
      readonly freeCount: number;
      readonly fleetCount: number;
    }
  /**
   * Enough of one type in sum, but too scattered, short of cores or memory beside them (`room`: of both, each elsewhere or together), or not as its workers
   * wish to lie to each other.
   */
  | {
      readonly kind: "workerShortfall";
      readonly group?: string;
      readonly workers: number;
      readonly placeableWorkers: number;
      readonly binding: "accelerators" | "cores" | "memory" | "room" | "spread" | "fabric";
      readonly neededPerWorker: number;
      readonly freeCount: number;
    }
  /**
   * Too few accelerators of one type have memory slices left where a part of this profile may begin. `sliceCount`: slices that it
   * takes; `misalignedCount`: accelerators that have as many left, and not where it may begin.
   */
  | {
      readonly kind: "partShortfall";
      readonly group?: string;
      readonly profile: string;
      readonly sliceCount: number;
      readonly workers: number;
      readonly placeableWorkers: number;
      readonly misalignedCount: number;
    }
  /** Work that may be evicted for it, or the last of those that would have to be, was promised to run until then. */
  | { readonly kind: "minRuntime"; readonly workloadId: WorkloadId; readonly untilMs: number }
  /** There would be room, but not far enough from others. `workloadIds`: whom it would lie too near to, the first of them. */
  | {
      readonly kind: "antiAffinity";
      readonly workloadIds: readonly WorkloadId[];
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  /** There would be room, but not where work under the rule may run. `pools`: those that admit it. */
  | {
      readonly kind: "dataRule";
      readonly rule: string;
      readonly pools: readonly string[];
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  | {
      readonly kind: "teamLimit";
      /** Its limit; its guarantee, which work that is not preemptible keeps to; what others would lend it; a budget. */
      readonly bound: QuotaBound;
      /** Whose work has come to what one user may hold, where that is the bound. */
      readonly user?: string;
      readonly team: string;
      readonly acceleratorType: string;
      /** What is bounded: the accelerator type, or another resource that teams limit. */
      readonly resource: string;
      readonly limitCount: number;
      readonly usedCount: number;
      readonly neededCount: number;
    }
  /** It is guaranteed by shape, and none of its team's cells that are left holds it. `team`: who owns them; `null`: nobody above it owns any. */
  | {
      readonly kind: "reservedTopology";
      readonly team: string | null;
      readonly neededCount: number;
      readonly ownedCount: number;
      readonly heldCount: number;
    }
  /** The policy starts nothing past the head of the queue, and the head does not fit. */
  | { readonly kind: "behindHead"; readonly headWorkloadId: WorkloadId; readonly aheadCount: number }
  /** Somebody holds it; it starts after it is released. */
  | { readonly kind: "held" }
  | {
      readonly kind: "waitsFor";
      readonly workloadId: WorkloadId;
      readonly on: "ok" | "failed" | "any" | "artifact";
      /** What of it, where it is something that it produces. */
      readonly artifact?: string;
      readonly othersCount: number;
    }
  | { readonly kind: "notBefore"; readonly atMs: number }
  /**
   * Power is too dear or too dirty for it. What it costs now, `null`: no tariff says; when tariffs say that it will be cheap or clean
   * enough, `null`: they do not; when it starts anyway, `null`: it does not.
   */
  | {
      readonly kind: "startWindow";
      readonly microUsdPerKwh: number | null;
      readonly microUsdPerKwhMax: number | null;
      readonly gramsPerKwh: number | null;
      readonly gramsPerKwhMax: number | null;
      readonly cheapestMs?: number;
      readonly cleanestMs?: number;
      readonly opensAtMs: number | null;
      readonly latestStartAtMs: number | null;
    }
  /** It would fit, and would then be in the way of a protected start. */
  | {
      readonly kind: "reservation";
      readonly workloadId: WorkloadId;
      readonly startMs: number;
      readonly expectedEndMs: number;
      /** Why it is expected to end by then; absent: its walltime says so. */
      readonly prediction?: Prediction;
    }
  /** The budget of its team or of one above it is used up. Money in micro-dollars. */
  | {
      readonly kind: "budget";
      readonly team: string;
      readonly resource: "gpuHours" | "money";
      readonly limit: number;
      readonly spent: number;
      readonly renewsAtMs: number | null;
    }
  /** It would fit, and might then run into a window of the calendar that is not for it. */
  | {
      readonly kind: "window";
      readonly name: string;
      readonly window: "maintenance" | "reservation";
      readonly startMs: number;
      readonly endMs: number;
      readonly expectedEndMs: number;
    }
  /** It would fit if these nodes were not kept as spares for work that loses nodes. */
  | {
      readonly kind: "hotSparesKept";
      readonly acceleratorTypes: readonly string[];
      readonly nodes: number;
      /** They alone would not do: what the reasons after it say holds as well. Absent: they would. */
      readonly suffice?: false;
    }
  /** It has a place as soon as those who were asked to leave have left. */
  | { readonly kind: "nominated"; readonly nodes: readonly string[] }
  | { readonly kind: "backoff"; readonly untilMs: number; readonly failures: number };

export type Verdict =
  | { readonly kind: "blocked"; readonly reasons: readonly BlockedReason[]; readonly wakeOn: readonly EventKind[] }
  /** It would fit; it is started within the batch in flight. */
  | { readonly kind: "placeable" }
  | { readonly kind: "notWaiting" };
