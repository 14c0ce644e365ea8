/**
 * The engine's answer to "why does it wait", in numbers. The first reason is the dominant one. `workloadChanged`
 * can change every verdict and is not listed. `wakeOn` lists the kinds
 * of event that could change the answer. Until such an event occurs, the answer stays the same.
 */
import type { NodeResourceName } from "../resources/node-resources.ts";
import type { NodeId, WorkloadId } from "../resources/ids.ts";
import type { PowerCap } from "../resources/power.ts";
import type { WorkloadKindName } from "../resources/workload-kind.ts";
import type { Prediction } from "../resources/attempt.ts";
import type { EventKind } from "./events.ts";

export type QuotaBound = "limit" | "user" | "guarantee" | "unguaranteed" | "borrowing" | "budget";

/**
 * The first thing that even an empty fleet lacks: nodes of an accepted type, a device with the MIG profile, an amount
 * that one worker needs of a node, nodes with the required labels, or capacity under spread and fabric constraints or
 * within one executor.
 */
export type FleetLack =
  | { readonly of: "type" }
  | { readonly of: "part"; readonly profile: string }
  | {
      readonly of: "accelerators" | "acceleratorMemory" | NodeResourceName;
      readonly perWorker: number;
      readonly perNodeMax: number;
    }
  | { readonly of: "nodeSelector" | "spread" | "fabric" | "executor" | "power" };

/**
 * Free accelerators on accepted nodes that calendar windows close to the work: nodes under maintenance, nodes reserved
 * for other work, and nodes whose window begins before the work would end. They are in no count of free accelerators.
 */
export interface ClosedCapacity {
  readonly freeCount: number;
  readonly nodeCount: number;
  /** The first of the nodes. */
  readonly nodes: readonly NodeId[];
  /** The first window on these nodes. */
  readonly name: string;
  readonly window: "maintenance" | "reservation";
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Reasons why a workload waits. Accelerator counts include only nodes that the workload accepts by labels and data
 * rule. A fraction counts as its fraction.
 */
export type BlockedReason =
  /**
   * Even the usable fleet without any work could not hold the gang. `fleetCount`: number of accelerators of the type
   * with the most accelerators.
   */
  | {
      readonly kind: "exceedsFleet";
      /** The first task group for which no capacity is left beside the other groups. Absent: the gang has no groups. */
      readonly group?: string;
      readonly acceleratorTypes: readonly string[];
      readonly workers: number;
      readonly placeableWorkers: number;
      readonly neededCount: number;
      readonly fleetCount: number;
      /** Absent: the group would fit alone, or each constraint alone could be met, but not all of them together. */
      readonly lack?: FleetLack;
    }
  /**
   * No type has enough free accelerators (a gang never mixes types). The counts are those of the type with the most
   * free accelerators.
   */
  | {
      readonly kind: "acceleratorShortfall";
      readonly group?: string;
      readonly acceleratorTypes: readonly string[];
      readonly neededCount: number;
      readonly freeCount: number;
      readonly fleetCount: number;
      readonly closed?: ClosedCapacity;
    }
  /**
   * One type has enough free accelerators in total, but not all workers fit: capacity is fragmented, cores or memory
   * are missing (`room`), or spread or fabric constraints are not met, or no single executor has enough (`executor`).
   */
  | {
      readonly kind: "workerShortfall";
      readonly group?: string;
      readonly workers: number;
      readonly placeableWorkers: number;
      readonly binding: "accelerators" | NodeResourceName | "room" | "spread" | "fabric" | "executor";
      readonly neededPerWorker: number;
      readonly freeCount: number;
      readonly closed?: ClosedCapacity;
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
  /** The request needs victims that are within their minimum runtime until this time. */
  | { readonly kind: "minRuntime"; readonly workloadId: WorkloadId; readonly untilMs: number }
  /** Blocked by anti-affinity. `workloadIds`: the first conflicting workloads. */
  | {
      readonly kind: "antiAffinity";
      readonly workloadIds: readonly WorkloadId[];
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  /** Blocked by the data rule of the workload. `pools`: the pools that admit the rule. */
  | {
      readonly kind: "dataRule";
      readonly rule: string;
      readonly pools: readonly string[];
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  /** Some pools take other kinds of workload only. `pools`: the pools that take this kind. */
  | {
      readonly kind: "workloadKind";
      readonly workloadKind: WorkloadKindName;
      readonly pools: readonly string[];
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  /**
   * Accelerators are free, but a domain has no power or cooling left for them. `usedWatts`: the draw of its nodes and of all work that
   * is placed there. `neededWatts`: the draw of the workers that would be placed in the domain without the cap; `null`: the pool of
   * the nodes does not state what its accelerators draw.
   */
  | {
      readonly kind: "powerCap";
      readonly of: PowerCap["of"];
      readonly domain: string;
      readonly capWatts: number;
      readonly usedWatts: number;
      readonly neededWatts: number | null;
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  /** The workload names a container image. `pools`: the pools whose executor runs images. */
  | {
      readonly kind: "image";
      readonly image: string;
      readonly pools: readonly string[];
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  /** The workload names secrets of a cluster. `pools`: the pools whose executor gives them to workers. */
  | {
      readonly kind: "secrets";
      readonly pools: readonly string[];
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  /**
   * The workload has inputs in stores (`in`), or asks for uploads (`out`). `pools`: the pools whose executor makes such transfers.
   */
  | {
      readonly kind: "transfers";
      readonly direction: "in" | "out";
      readonly pools: readonly string[];
      /** A directory that the work names, which keeps it out of pools that upload. Absent: none does. */
      readonly from?: string;
      readonly workers: number;
      readonly placeableWorkers: number;
    }
  | {
      readonly kind: "teamLimit";
      /**
       * The exceeded quota: a limit, a borrowing limit, a budget, or, for non-preemptible work, a guarantee.
       * `unguaranteed`: guarantees of other teams would not remain covered; `usedCount` is then the fleet's
       * non-preemptible usage plus its unused guarantees, and `limitCount` is the capacity that can cover both.
       */
      readonly bound: QuotaBound;
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
   * The team's reserved topology guarantees capacity for the workload, but none of the team's free cells fits. `team`:
   * the owner of the reserved topology, or `null` if neither the workload's team nor a team above owns any.
   */
  | {
      readonly kind: "reservedTopology";
      readonly team: string | null;
      readonly neededCount: number;
      readonly ownedCount: number;
      readonly heldCount: number;
    }
  /** The policy starts no work behind the head of the queue, and the head of the queue does not fit. */
  | { readonly kind: "behindHead"; readonly headWorkloadId: WorkloadId; readonly aheadCount: number }
  /** A user holds the workload; it can start after its release. */
  | { readonly kind: "held" }
  | {
      readonly kind: "waitsFor";
      readonly workloadId: WorkloadId;
      readonly on: "ok" | "failed" | "any" | "artifact";
      /** The artifact for which the workload waits. Absent: it waits for the end of other work. */
      readonly artifact?: string;
      readonly othersCount: number;
    }
  | { readonly kind: "notBefore"; readonly atMs: number }
  /**
   * Power is too expensive or too carbon-intensive. The current price or carbon is `null` if no tariff states it. The
   * next window is `null` if it is not known. The latest start is `null` if there is none.
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
  /** The request fits, but would delay a protected start. */
  | {
      readonly kind: "reservation";
      readonly workloadId: WorkloadId;
      readonly startMs: number;
      readonly expectedEndMs: number;
      /** Basis of the expected end. Absent: the walltime. */
      readonly prediction?: Prediction;
      /** The start waits for nodes that are ordered, and counts on idle ones beside them. Absent: it does not. */
      readonly awaitsNodes?: true;
    }
  /** The budget of the team, or of a team above it, is used up. Amounts of money are in micro-dollars. */
  | {
      readonly kind: "budget";
      readonly team: string;
      readonly resource: "gpuHours" | "money";
      readonly limit: number;
      readonly spent: number;
      readonly renewsAtMs: number | null;
    }
  /** The request fits, but the work might still run during a calendar window that is reserved for other work. */
  | {
      readonly kind: "window";
      readonly name: string;
      readonly window: "maintenance" | "reservation";
      readonly startMs: number;
      readonly endMs: number;
      readonly expectedEndMs: number;
    }
  /** The request would fit if these nodes were not hot spares. */
  | {
      readonly kind: "hotSparesKept";
      readonly acceleratorTypes: readonly string[];
      readonly nodes: number;
      /**
       * False if the request would not fit even with these nodes as ordinary nodes; the reasons after this one apply
       * too. Absent: it would fit.
       */
      readonly suffice?: false;
    }
  /** The workload has a nomination and starts when terminating work has ended. */
  | { readonly kind: "nominated"; readonly nodes: readonly string[] }
  | { readonly kind: "backoff"; readonly untilMs: number; readonly failures: number }
  /** As many tasks of the array run as it may have at one time. */
  | { readonly kind: "taskLimit"; readonly tasksAtOnce: number };

export type Verdict =
  | {
      readonly kind: "blocked";
      readonly reasons: readonly BlockedReason[];
      /**
       * True if neither time nor the end of other work can start the workload while fleet, limits and budgets stay the
       * same. Otherwise absent.
       */
      readonly neverStarts?: true;
      readonly wakeOn: readonly EventKind[];
    }
  /** The request fits and starts within the current batch. */
  | { readonly kind: "placeable" }
  | { readonly kind: "notWaiting" };
