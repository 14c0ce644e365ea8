/**
 * The engine's answer to "why does it wait", in numbers. The first reason is the dominant one. `wakeOn` lists the kinds
 * of event that could change the answer; until one of them happens, asking again gives the same.
 */
import type { NodeResourceName } from "../model/node-resources.ts";
import type { WorkloadId } from "../model/ids.ts";
import type { Prediction } from "../model/workload.ts";
import type { EventKind } from "./events.ts";

export type QuotaBound = "limit" | "user" | "guarantee" | "borrowing" | "budget";

/**
 * Missing from an empty fleet: nodes of an accepted type; a device with that MIG profile; an amount, of which no
 * accepted node has enough for a worker; nodes with the required labels; or capacity under the workers' relative
 * constraints.
 */
export type FleetLack =
  | { readonly of: "type" }
  | { readonly of: "part"; readonly profile: string }
  | {
      readonly of: "accelerators" | "acceleratorMemory" | NodeResourceName;
      readonly perWorker: number;
      readonly perNodeMax: number;
    }
  | { readonly of: "nodeSelector" | "spread" | "fabric" };

/** Accelerator counts are of nodes that the work accepts, by labels and data rule; a fraction counts as such. */
export type BlockedReason =
  /**
   * The usable fleet could not hold the gang even if it were empty. `fleetCount`: of the type with most accelerators.
   */
  | {
      readonly kind: "exceedsFleet";
      /** The first task group without capacity beside the others; absent: the gang has no groups. */
      readonly group?: string;
      readonly acceleratorTypes: readonly string[];
      readonly workers: number;
      readonly placeableWorkers: number;
      readonly neededCount: number;
      readonly fleetCount: number;
      /** Absent: the group would fit alone, or only the combination of constraints fails. */
      readonly lack?: FleetLack;
    }
  /**
   * Fewer free accelerators than needed on any one type: a gang never mixes types. The counts are of the type with most
   * free.
   */
  | {
      readonly kind: "acceleratorShortfall";
      readonly group?: string;
      readonly acceleratorTypes: readonly string[];
      readonly neededCount: number;
      readonly freeCount: number;
      readonly fleetCount: number;
    }
  /**
   * Enough free accelerators of one type in total, but fragmented, without enough cores or memory beside them (`room`),
   * or not within the workers' relative constraints.
   */
  | {
      readonly kind: "workerShortfall";
      readonly group?: string;
      readonly workers: number;
      readonly placeableWorkers: number;
      readonly binding: "accelerators" | NodeResourceName | "room" | "spread" | "fabric";
      readonly neededPerWorker: number;
      readonly freeCount: number;
    }
  /**
   * Too few accelerators of one type have enough free slices at a position where this profile can start. `sliceCount`:
   * slices of the profile; `misalignedCount`: accelerators with enough slices in wrong positions.
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
  /** Victim candidates, or the last of those needed, are within their minimum runtime until then. */
  | { readonly kind: "minRuntime"; readonly workloadId: WorkloadId; readonly untilMs: number }
  /** Blocked by anti-affinity. `workloadIds`: the first conflicting workloads. */
  | {
      readonly kind: "antiAffinity";
      readonly workloadIds: readonly WorkloadId[];
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  /** Blocked by its data rule. `pools`: those that admit it. */
  | {
      readonly kind: "dataRule";
      readonly rule: string;
      readonly pools: readonly string[];
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  | {
      readonly kind: "teamLimit";
      /** The exceeded quota: a limit, a guarantee (for non-preemptible work), a borrowing limit, or a budget. */
      readonly bound: QuotaBound;
      /** The user whose limit is reached, if a user limit is the bound. */
      readonly user?: string;
      readonly team: string;
      readonly acceleratorType: string;
      /** The bounded resource: the accelerator type, or another resource that teams limit. */
      readonly resource: string;
      readonly limitCount: number;
      readonly usedCount: number;
      readonly neededCount: number;
    }
  /**
   * It is guaranteed reserved topology, and none of its team's free cells fits. `team`: the owner; `null`: no team
   * above it owns any.
   */
  | {
      readonly kind: "reservedTopology";
      readonly team: string | null;
      readonly neededCount: number;
      readonly ownedCount: number;
      readonly heldCount: number;
    }
  /** The policy starts nothing past the head of the queue, and the head does not fit. */
  | { readonly kind: "behindHead"; readonly headWorkloadId: WorkloadId; readonly aheadCount: number }
  /** It is held; it starts after a release. */
  | { readonly kind: "held" }
  | {
      readonly kind: "waitsFor";
      readonly workloadId: WorkloadId;
      readonly on: "ok" | "failed" | "any" | "artifact";
      /** The awaited artifact, if it waits for one. */
      readonly artifact?: string;
      readonly othersCount: number;
    }
  | { readonly kind: "notBefore"; readonly atMs: number }
  /**
   * Power is too expensive or too carbon-intensive. Current price and carbon, `null`: no tariff; the next window,
   * `null`: not known; the latest start, `null`: none.
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
  /** It would fit, and would then delay a protected start. */
  | {
      readonly kind: "reservation";
      readonly workloadId: WorkloadId;
      readonly startMs: number;
      readonly expectedEndMs: number;
      /** Source of the expected end; absent: its walltime. */
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
  /** It would fit, and might then overlap a calendar window that is not for it. */
  | {
      readonly kind: "window";
      readonly name: string;
      readonly window: "maintenance" | "reservation";
      readonly startMs: number;
      readonly endMs: number;
      readonly expectedEndMs: number;
    }
  /** It would fit if these nodes were not hot spares. */
  | {
      readonly kind: "hotSparesKept";
      readonly acceleratorTypes: readonly string[];
      readonly nodes: number;
      /** The spares alone would not suffice: the reasons after it apply too. Absent: they would. */
      readonly suffice?: false;
    }
  /** It is nominated and starts as soon as terminating work has ended. */
  | { readonly kind: "nominated"; readonly nodes: readonly string[] }
  | { readonly kind: "backoff"; readonly untilMs: number; readonly failures: number };

export type Verdict =
  | { readonly kind: "blocked"; readonly reasons: readonly BlockedReason[]; readonly wakeOn: readonly EventKind[] }
  /** It fits; it starts within the batch in progress. */
  | { readonly kind: "placeable" }
  | { readonly kind: "notWaiting" };
