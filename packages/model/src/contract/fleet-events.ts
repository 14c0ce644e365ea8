/** Events of the fleet: sites, pools, nodes, executors, and capacity on order. */
import type { BurstGround, ReleaseReason } from "../resources/burst.ts";
import type { CapacityOrderPhase, CapacityOrderSpec, OrderArrival } from "../resources/capacity-order.ts";
import type { CachedInput } from "../resources/cached-input.ts";
import type { StoreSpec } from "../resources/store.ts";
import type { ExecutorMode } from "../resources/executor-state.ts";
import type { ExecutorId, ExecutorSpec, NodeSpec, Pool, Site } from "../resources/fleet.ts";
import type { ForeignUse } from "../resources/foreign-use.ts";
import type { ImportedHistory } from "../resources/imported-history.ts";
import type { IncidentAnnotation, NodeFault } from "../resources/incident.ts";
import type { QualificationCause, QualificationSuite } from "../resources/qualification.ts";
import type { NodeId, PoolName, SiteName, WorkloadId } from "../resources/ids.ts";
import type { DeclaredBy, Fact } from "./fact.ts";

export type FleetEvent =
  | (Fact<"siteDefined"> & DeclaredBy & { readonly site: Site })
  /** An executor registered for the first time, or with changed capabilities. */
  | (Fact<"executorRegistered"> & { readonly executor: ExecutorSpec })
  | (Fact<"poolDefined"> & DeclaredBy & { readonly pool: Pool })
  | (Fact<"nodeJoined"> & { readonly node: NodeSpec })
  | (Fact<"nodeChanged"> & { readonly node: NodeSpec })
  /** A node that holds work has other labels, or another place in the fabric. */
  | (Fact<"nodeRelabelled"> & {
      readonly nodeId: NodeId;
      readonly fabric: readonly string[];
      readonly labels: Readonly<Record<string, string>>;
    })
  | (Fact<"nodeLost"> & { readonly nodeId: NodeId; readonly detail: string })
  | (Fact<"nodeReturned"> & { readonly nodeId: NodeId })
  /** Work that Headroom does not run uses other amounts of the node; `null`: none. */
  | (Fact<"foreignUseChanged"> & { readonly nodeId: NodeId; readonly use: ForeignUse | null })
  /** The cache of the node has further inputs (`added`, also for changed sizes), and no longer those with the keys `removed`. */
  | (Fact<"nodeCacheChanged"> & {
      readonly nodeId: NodeId;
      readonly added: readonly CachedInput[];
      readonly removed: readonly string[];
    })
  /** Stores that were declared or changed, by name, and those that were removed. */
  | (Fact<"storesChanged"> & { readonly changed: readonly StoreSpec[]; readonly removed: readonly string[] })
  | (Fact<"nodeDrainStarted"> & { readonly nodeId: NodeId; readonly actor: string })
  | (Fact<"nodeResumed"> & { readonly nodeId: NodeId; readonly actor: string })
  /** The node takes no new work until it has passed the suite. `actor`: the user who asked for it. */
  | (Fact<"nodeQualificationRequired"> & {
      readonly nodeId: NodeId;
      readonly suite: QualificationSuite;
      readonly cause: QualificationCause;
      readonly actor: string | null;
    })
  /** A run of the suite begins. `expectedMs`: how long it is expected to take. */
  | (Fact<"nodeQualificationStarted"> & { readonly nodeId: NodeId; readonly run: number; readonly expectedMs: number })
  /**
   * `passed`: the node takes work. `waived`: it takes work because its pool has no rule any more. `retried`: the run
   * proved nothing, and another one follows. `failed`: no further run follows, and the node takes no work.
   */
  | (Fact<"nodeQualificationEnded"> & {
      readonly nodeId: NodeId;
      readonly outcome: "passed" | "waived" | "retried" | "failed";
      readonly detail: string;
      readonly durationMs: number;
    })
  /** The node takes no new work, and leaves the fleet when the last work on it has ended. */
  | (Fact<"nodeRemovalRequested"> & { readonly nodeId: NodeId; readonly actor: string })
  | (Fact<"nodeRemovalCancelled"> & { readonly nodeId: NodeId; readonly actor: string })
  | (Fact<"nodeRemoved"> & { readonly nodeId: NodeId; readonly actor: string })
  /** The pool takes no new nodes, and is removed when its last node has left. */
  | (Fact<"poolRemovalRequested"> & { readonly pool: PoolName; readonly actor: string })
  | (Fact<"poolRemovalCancelled"> & { readonly pool: PoolName; readonly actor: string })
  | (Fact<"poolRemoved"> & { readonly pool: PoolName; readonly actor: string })
  /** The site is removed when its last pool is. */
  | (Fact<"siteRemovalRequested"> & { readonly site: SiteName; readonly actor: string })
  | (Fact<"siteRemovalCancelled"> & { readonly site: SiteName; readonly actor: string })
  | (Fact<"siteRemoved"> & { readonly site: SiteName; readonly actor: string })
  /** The node becomes a hot spare, reserved for work that loses nodes. */
  | (Fact<"hotSpareReserved"> & { readonly nodeId: NodeId })
  /** The node is no longer a hot spare. `workloadId`: the workload that took the node. */
  | (Fact<"hotSpareReleased"> & {
      readonly nodeId: NodeId;
      readonly reason: HotSpareEnd;
      readonly workloadId: WorkloadId | null;
    });

/** Records about the health of the fleet. Incidents are computed from the journal outside the engine, so these change no decision. */
export type IncidentEvent =
  | (Fact<"incidentAnnotated"> & {
      readonly incident: string;
      readonly annotation: IncidentAnnotation;
      readonly actor: string;
    })
  /** A collector of logs, or a person, reported faults of a node. They are findings: the engine draws no conclusion. */
  | (Fact<"faultsReported"> & {
      readonly nodeId: NodeId;
      readonly faults: readonly NodeFault[];
      readonly actor: string;
    });

export type ExecutorEvent =
  /** An operator declared an executor, or changed its mode. */
  | (Fact<"executorDeclared"> & {
      readonly executor: ExecutorId;
      readonly mode: ExecutorMode;
      readonly actor: string;
    })
  /** An executor does not answer, or not completely. Its attempts and nodes stay as recorded. */
  | (Fact<"executorLost"> & { readonly executor: ExecutorId; readonly detail: string })
  | (Fact<"executorReturned"> & { readonly executor: ExecutorId })
  | (Fact<"executorRemoved"> & { readonly executor: ExecutorId; readonly actor: string })
  /** An operator gave up the attempts of an executor that does not answer. The ends of the attempts follow. */
  | (Fact<"executorAbandoned"> & {
      readonly executor: ExecutorId;
      readonly attempts: number;
      readonly actor: string;
      readonly reason: string;
    })
  /** Past work of the executor's cluster, instead of that imported before. */
  | (Fact<"historyImported"> & { readonly history: ImportedHistory; readonly actor: string });

export type CapacityOrderEvent =
  | (Fact<"capacityOrderCreated"> & {
      readonly order: CapacityOrderSpec;
      readonly phase: CapacityOrderPhase;
      readonly actor: string;
      readonly reason: string;
    })
  /** A person brought the order to a later phase, or changed its expectation (`phase` is then the present one). */
  | (Fact<"capacityOrderAdvanced"> & {
      readonly name: string;
      readonly phase: CapacityOrderPhase;
      readonly actor: string;
      readonly reason: string;
      readonly arrival?: OrderArrival;
    })
  | (Fact<"capacityOrderCancelled"> & { readonly name: string; readonly actor: string; readonly reason: string })
  /** The node, which joined with the event before, counts against the order. */
  | (Fact<"capacityOrderNodeJoined"> & { readonly name: string; readonly nodeId: NodeId })
  /** All nodes of the order have joined, and some of them have to qualify. */
  | (Fact<"capacityOrderQualifying"> & { readonly name: string })
  /** All nodes of the order have joined: it is in service. */
  | (Fact<"capacityOrderFilled"> & { readonly name: string })
  /** The last node of an order that is leaving has left: it is gone. */
  | (Fact<"capacityOrderEmptied"> & { readonly name: string })
  /** The engine ordered nodes for waiting work. */
  | (Fact<"capacityOrderDecided"> & {
      readonly order: CapacityOrderSpec;
      readonly provisioner: string;
      readonly releaseAfterMs: number;
      readonly ground: BurstGround;
      /** `null`: `capacityOrderIdentified` follows before the provisioner is called. Absent: the provisioner knows the order by its name, or it is manual. */
      readonly requestId?: null;
    })
  /** The id under which the provisioner knows the order. It is drawn at random by the driver, and recorded before the first call. */
  | (Fact<"capacityOrderIdentified"> & { readonly name: string; readonly requestId: string })
  /** The provisioner of an order of the engine stated something new. */
  | (Fact<"capacityOrderReported"> & {
      readonly name: string;
      readonly phase: "ordered" | "arriving";
      readonly detail: string;
      /** Names of its nodes. Absent: as before. */
      readonly nodes?: readonly NodeId[];
      readonly expectedAtMs?: number;
      readonly priceMicroUsdPerHour?: number;
    })
  /** No further nodes of the order come. Without nodes it is leaving, with some of them it is in service. */
  | (Fact<"capacityOrderFailed"> & {
      readonly name: string;
      readonly detail: string;
      /** No nodes are ordered for the pool before. */
      readonly retryAtMs: number;
      /** Nodes that did not join. Their machines may exist until `capacityOrderRestStopped`. Absent in version 1. */
      readonly missingCount?: number;
    })
  /** No machine of a failed order exists beside its nodes in the fleet. */
  | (Fact<"capacityOrderRestStopped"> & { readonly name: string })
  /** The provisioner is to stop these nodes. No work is placed on them. */
  | (Fact<"capacityNodesReleased"> & {
      readonly name: string;
      readonly nodes: readonly NodeId[];
      readonly reason: ReleaseReason;
      /** The shortest time that one of the nodes was idle. */
      readonly idleMs: number;
      /** Whether the order has no other nodes, and is leaving. */
      readonly isWhole: boolean;
      /** The person who cancelled the order; `null`: the engine. */
      readonly actor: string | null;
    });

/**
 * Reason why a node is no longer a hot spare. `taken`: work that lost a node uses it. `lost`, `drained`: the node was
 * lost or drained. `calendar`: a calendar window needs it. `fewer`: the pool declares fewer hot spares.
 */
export type HotSpareEnd = "taken" | "lost" | "drained" | "calendar" | "fewer" | "foreignWork";
