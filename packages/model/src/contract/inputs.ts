/**
 * All inputs of the engine. A command requests a change and gets a reply. An observation reports the state of attempts
 * or nodes from an executor. A signal comes from a workload's process. A tick reports the time. Inputs are validated
 * before they reach the engine.
 */
import type { GatewayCounter } from "../resources/endpoint-budget.ts";
import type { AttemptId, CommandId, NodeId, PoolName, SiteName, TeamName, WorkloadId } from "../resources/ids.ts";
import type { ExecutorMode } from "../resources/executor-state.ts";
import type { ImportedHistory } from "../resources/imported-history.ts";
import type { ByteTransfer, StoreSpec } from "../resources/store.ts";
import type { NodeCacheReport } from "../resources/cached-input.ts";
import type { ForeignUseReport } from "../resources/foreign-use.ts";
import type { ExecutorId, ExecutorSpec, NodeSpec, Pool, Site } from "../resources/fleet.ts";
import type { ArtifactChange, ArtifactContent, ArtifactName } from "../resources/artifact.ts";
import type { CapacityOrderDraft, CapacityOrderPhase, OrderArrival } from "../resources/capacity-order.ts";
import type { IncidentAnnotation, NodeFault } from "../resources/incident.ts";
import type { ProposalEffect, ProposalGround, ProposalRule, ProposedChange } from "../resources/proposal.ts";
import type { Team } from "../resources/team.ts";
import type { LossCause, WorkerExit } from "../resources/attempt.ts";
import type { LoadGround, WorkloadSpec } from "../resources/workload.ts";
import type { RolloutAction, RolloutGround } from "../resources/rollout.ts";
import type { WorkloadChanges } from "../resources/workload-changes.ts";
import type { Schedule } from "../resources/schedule.ts";
import type { PipelineRunId, PipelineSpec, StartingReading } from "../resources/pipeline.ts";
import type { CalendarEntry } from "../resources/calendar.ts";
import type { Policy } from "../policy/policy.ts";

interface CommandCommon {
  readonly commandId: CommandId;
  readonly actor: string;
  /**
   * Idempotency key: a retry of the command with the same key gets the first answer. `null`: the command has no key.
   */
  readonly idempotencyKey: string | null;
}

/**
 * How a removal treats work on the nodes. `refuse`: the removal is refused while any work holds a place there.
 * `requeue`: the work is stopped (with the grace period) and put back in the queue, and the removal follows its end.
 */
export type RemovalMode = "refuse" | "requeue";

export type Command =
  | (CommandCommon & { readonly kind: "submitWorkload"; readonly spec: WorkloadSpec })
  | (CommandCommon & { readonly kind: "stopWorkload"; readonly workloadId: WorkloadId })
  /** Stops one task of an array: it is not tried again, and the others continue. */
  | (CommandCommon & { readonly kind: "stopTask"; readonly workloadId: WorkloadId; readonly task: number })
  /** Holds a workload: no further task starts until the workload is released. Running tasks continue. */
  | (CommandCommon & { readonly kind: "holdWorkload"; readonly workloadId: WorkloadId })
  | (CommandCommon & { readonly kind: "releaseWorkload"; readonly workloadId: WorkloadId })
  /** Changes fields of a workload that waits or runs. It keeps its position in the order of submission. */
  | (CommandCommon & {
      readonly kind: "changeWorkload";
      readonly workloadId: WorkloadId;
      readonly changes: WorkloadChanges;
    })
  /**
   * Changes the number of replicas because of the load of the endpoint. `from`: the number that the decision was made
   * for; with another number now, nothing changes.
   */
  | (CommandCommon & {
      readonly kind: "scaleEndpoint";
      readonly workloadId: WorkloadId;
      readonly from: number;
      readonly replicas: number;
      readonly ground: LoadGround;
      /** Replicas to stop first, the one with the fewest requests first. */
      readonly stopFirst: readonly AttemptId[];
      /** Accepted accelerator types in the order in which missing replicas take them; absent: the order stays. */
      readonly acceleratorTypes?: readonly string[];
    })
  /** The cost of the requests that left an endpoint, as one gateway counts it. Without a budget nothing changes. */
  | (CommandCommon & { readonly kind: "chargeOverflow"; readonly workloadId: WorkloadId } & GatewayCounter)
  /** Steers the rollout with this number; if it has ended meanwhile, nothing changes. */
  | (CommandCommon & {
      readonly kind: "steerRollout";
      readonly workloadId: WorkloadId;
      /** Number of the new revision; `null`: of the rollout in progress. */
      readonly number: number | null;
      /** The step for which the decision was made; `null`: whatever the step is. */
      readonly step: number | null;
      readonly action: RolloutAction;
      readonly ground: RolloutGround;
    })
  /**
   * Records that a user runs a command inside a worker of a running attempt. The executor starts the command only after
   * the event is durable. `task: null`: the attempt that started last.
   */
  | (CommandCommon & {
      readonly kind: "startExec";
      readonly workloadId: WorkloadId;
      readonly task: number | null;
      readonly worker: number;
      readonly run: string;
      readonly terminal: boolean;
    })
  /** Records what a person does about an incident. Whether there is such an incident is known outside the engine. */
  | (CommandCommon & {
      readonly kind: "annotateIncident";
      readonly incident: string;
      readonly annotation: IncidentAnnotation;
    })
  /** Records faults of a node that a collector of logs found. */
  | (CommandCommon & { readonly kind: "reportFaults"; readonly nodeId: NodeId; readonly faults: readonly NodeFault[] })
  /** Reruns the unsuccessful tasks of an ended workload under its id. */
  | (CommandCommon & { readonly kind: "rerunWorkload"; readonly workloadId: WorkloadId })
  /**
   * Applies a set of documents, all or nothing. A workload that exists with the same team, name and spec is not
   * changed, even if it has ended. If it has not ended, fields that differ change in place.
   */
  | (CommandCommon & {
      readonly kind: "apply";
      readonly sites: readonly Site[];
      readonly pools: readonly Pool[];
      readonly teams: readonly Team[];
      readonly workloads: readonly WorkloadSpec[];
      readonly calendar?: readonly CalendarEntry[] | undefined;
      readonly schedules?: readonly Schedule[] | undefined;
      readonly pipelines?: readonly PipelineSpec[] | undefined;
    })
  | (CommandCommon & { readonly kind: "removeSchedule"; readonly name: string })
  /** Removes the definition of a pipeline. Its runs continue. */
  | (CommandCommon & { readonly kind: "removePipeline"; readonly name: string })
  /** Starts one run of a pipeline, or one run for each date of a backfill. */
  | (CommandCommon & {
      readonly kind: "startPipelineRun";
      readonly name: string;
      readonly params: Readonly<Record<string, string>>;
      readonly force: boolean;
      readonly trigger: "manual" | "webhook" | "file" | "metric";
      /** The file of a run that a file starts. */
      readonly file?: { readonly uri: string; readonly tag: string } | undefined;
      /** The reading of a run that a metric starts. */
      readonly reading?: StartingReading | undefined;
      /** The id of the request of a webhook. While the run that it started is kept, it starts no other. */
      readonly key?: string | undefined;
      /** Dates of a backfill. Absent: one run. */
      readonly dates?: readonly string[] | undefined;
    })
  | (CommandCommon & { readonly kind: "cancelPipelineRun"; readonly runId: PipelineRunId })
  /**
   * Runs the steps of an ended run again that did not succeed, with all steps after them. `from`: a step that runs again
   * even if it succeeded.
   */
  | (CommandCommon & {
      readonly kind: "retryPipelineRun";
      readonly runId: PipelineRunId;
      readonly from: string | null;
      readonly force: boolean;
    })
  /** Approves or rejects a step that waits for a person. */
  | (CommandCommon & {
      readonly kind: "decidePipelineStep";
      readonly runId: PipelineRunId;
      readonly step: string;
      readonly isApproved: boolean;
      readonly reason: string;
    })
  | (CommandCommon & { readonly kind: "removeCalendarEntry"; readonly name: string })
  | (CommandCommon & { readonly kind: "removeTeam"; readonly team: TeamName })
  /**
   * Drains a node. `requeue` stops its running work (with the grace period) and puts it back in the queue. `wait` lets
   * the work finish.
   */
  | (CommandCommon & { readonly kind: "drainNode"; readonly nodeId: NodeId; readonly running: "wait" | "requeue" })
  /**
   * Stops the running attempts of a workload and puts its tasks back in the queue. They go on from their checkpoint. Only
   * proposals make it.
   */
  | (CommandCommon & { readonly kind: "restartWorkload"; readonly workloadId: WorkloadId })
  /** Allows new work on a drained node, and cancels the removal of a node whose pool stays. */
  | (CommandCommon & { readonly kind: "resumeNode"; readonly nodeId: NodeId })
  /** Lets a node pass the suite of its pool's rule again. It takes no new work until then. */
  | (CommandCommon & { readonly kind: "qualifyNode"; readonly nodeId: NodeId })
  /** Removes a node from the fleet. If its executor reports the node later, the node joins as a new one. */
  | (CommandCommon & { readonly kind: "removeNode"; readonly nodeId: NodeId; readonly running: RemovalMode })
  /** Removes a pool with its nodes. */
  | (CommandCommon & { readonly kind: "removePool"; readonly pool: PoolName; readonly running: RemovalMode })
  /** Removes a site with its pools and their nodes. */
  | (CommandCommon & { readonly kind: "removeSite"; readonly site: SiteName; readonly running: RemovalMode })
  /**
   * Announces that the provider takes the node away, at an instant or at the end of a duration that begins when the
   * command is decided. A later notice replaces an earlier one.
   */
  | (CommandCommon & {
      readonly kind: "noticeNode";
      readonly nodeId: NodeId;
      readonly gone: { readonly atMs: number } | { readonly inMs: number };
      readonly reason?: string | undefined;
    })
  | (CommandCommon & { readonly kind: "withdrawNotice"; readonly nodeId: NodeId })
  /**
   * Declares an executor, removes its declaration, or gives up the attempts of an executor that is unreachable or
   * removed: they count as lost, and their tasks run elsewhere, whether or not the attempts still run.
   */
  | (CommandCommon & {
      readonly kind: "setExecutor";
      readonly executor: ExecutorId;
      readonly change:
        | { readonly kind: "declare"; readonly mode: ExecutorMode }
        | { readonly kind: "remove" }
        | { readonly kind: "abandon"; readonly reason: string }
        /** Records past work of the executor's cluster, instead of that imported before. */
        | { readonly kind: "importHistory"; readonly history: ImportedHistory };
    })
  /** Records an order of nodes. `shape` absent: that of the pool's first node. */
  | (CommandCommon & {
      readonly kind: "createCapacityOrder";
      readonly order: CapacityOrderDraft;
      readonly phase: "planned" | "ordered" | "arriving";
      readonly reason: string;
    })
  /** Brings an order to a later phase. With the present phase, only its expectation changes. `null`: the next phase. */
  | (CommandCommon & {
      readonly kind: "advanceCapacityOrder";
      readonly name: string;
      readonly phase: Exclude<CapacityOrderPhase, "cancelled"> | null;
      readonly reason: string;
      readonly arrival?: OrderArrival | undefined;
    })
  /** Cancels an order whose nodes have not all come. Nodes that have joined stay. */
  | (CommandCommon & { readonly kind: "cancelCapacityOrder"; readonly name: string; readonly reason: string })
  /** Proposes a change. It is made when it has been simulated and approved. */
  | (CommandCommon & {
      readonly kind: "createProposal";
      readonly change: ProposedChange;
      readonly reason: string;
      readonly ground: readonly ProposalGround[];
      readonly agent?: string | undefined;
      /** The team that advice is about. Only the control plane sets it. */
      readonly team?: TeamName | undefined;
    })
  /** Records the simulated effect of a proposal. Only the driver sends it: no caller states an effect. */
  | (CommandCommon & { readonly kind: "simulateProposal"; readonly id: string; readonly effect: ProposalEffect })
  | (CommandCommon & {
      readonly kind: "decideProposal";
      readonly id: string;
      readonly verdict: "approve" | "reject" | "withdraw";
      readonly reason: string;
    })
  | (CommandCommon & { readonly kind: "setProposalRule"; readonly rule: ProposalRule })
  /** Registers a version of an artifact. Its inputs are resolved like those of a workload of the team. */
  | (CommandCommon & {
      readonly kind: "registerArtifact";
      readonly artifact: ArtifactName & ArtifactContent;
      /** Aliases that point to the new version from now on. */
      readonly aliases: readonly string[];
      readonly reason: string;
    })
  | (CommandCommon & {
      readonly kind: "changeArtifact";
      readonly artifact: ArtifactName;
      readonly change: ArtifactChange;
      readonly reason: string;
    })
  | (CommandCommon & { readonly kind: "setPolicy"; readonly policy: Policy });

export type Observation =
  /** Registers an executor; sent at each start of the control plane. */
  | { readonly kind: "executorSeen"; readonly executor: ExecutorSpec }
  /** The executor answers. */
  | { readonly kind: "executorReachable"; readonly executor: ExecutorId }
  /** The executor does not answer, or not completely. This says nothing about its attempts and nodes. */
  | { readonly kind: "executorUnreachable"; readonly executor: ExecutorId; readonly detail: string }
  /** Accelerators that the executor found on the nodes of a pool. If the family is absent, the type has none. */
  | {
      readonly kind: "acceleratorsSeen";
      readonly pool: PoolName;
      readonly acceleratorType: string;
      readonly acceleratorFamily?: string;
    }
  | { readonly kind: "nodeSeen"; readonly node: NodeSpec }
  /** Foreign use of all nodes of the executor. Nodes that are not listed have none. */
  | { readonly kind: "foreignUseSeen"; readonly executor: ExecutorId; readonly uses: readonly ForeignUseReport[] }
  /** Inputs in the caches of nodes. Nodes that are not listed are unchanged. */
  | { readonly kind: "nodeCachesSeen"; readonly executor: ExecutorId; readonly caches: readonly NodeCacheReport[] }
  /** A run of the suite of a qualification (`NodeQualification.id`) begins on the node. */
  | {
      readonly kind: "qualificationStarted";
      readonly nodeId: NodeId;
      readonly id: number;
      readonly run: number;
      readonly expectedMs: number;
    }
  /** The run has ended. Only a complete result without a failure is a proof. A report about another run changes nothing. */
  | {
      readonly kind: "qualificationEnded";
      readonly nodeId: NodeId;
      readonly id: number;
      readonly run: number;
      readonly isPassed: boolean;
      readonly detail: string;
      readonly durationMs: number;
    }
  /** All declared stores. Those that are not listed were removed. */
  | { readonly kind: "storesSeen"; readonly stores: readonly StoreSpec[] }
  /** Bytes moved for an attempt, which may have ended meanwhile. `nodeId`: the node that got them; absent: not stated. */
  | ({
      readonly kind: "bytesTransferred";
      readonly workloadId: WorkloadId;
      readonly attemptId: AttemptId;
      readonly nodeId?: NodeId;
    } & ByteTransfer)
  | { readonly kind: "nodeUnreachable"; readonly nodeId: NodeId; readonly detail: string }
  /** The executor knows that the node leaves at this instant. A later notice replaces an earlier one. */
  | { readonly kind: "nodeNotice"; readonly nodeId: NodeId; readonly goneAtMs: number }
  /** The id under which the provisioner of an order of the engine will know it, drawn at random. Only the first one counts. */
  | { readonly kind: "orderIdentified"; readonly name: string; readonly requestId: string }
  /** A provisioner states how far an order of the engine is. A repeated statement changes nothing. */
  | ({ readonly kind: "orderReported"; readonly name: string } & ProvisionerReport)
  | { readonly kind: "attemptRunning"; readonly attemptId: AttemptId }
  /** The replica of an endpoint answered its readiness request. `address`: host and port of its HTTP server. */
  | { readonly kind: "replicaReady"; readonly attemptId: AttemptId; readonly address: string }
  /** The replica answers no more. An executor reports it after several failed requests in a row. */
  | { readonly kind: "replicaNotReady"; readonly attemptId: AttemptId; readonly detail: string }
  /** All workers of an attempt have ended. Their exits are in the order of time. */
  | {
      readonly kind: "attemptExited";
      readonly attemptId: AttemptId;
      readonly exits: readonly WorkerExit[];
      /** Artifacts that were not reported while the attempt ran, and those to be registered. Absent: none. */
      readonly artifacts?: readonly ReportedArtifact[];
    }
  /**
   * The stopped workers of a shrunk gang have ended. `workers`: the size that the gang has reached, which shows the
   * request that this input answers. If absent, it answers the last request.
   */
  | { readonly kind: "workersLeft"; readonly attemptId: AttemptId; readonly workers?: number }
  | { readonly kind: "workersJoined"; readonly attemptId: AttemptId }
  /**
   * A further worker of a growing gang did not start, or ended at once. The gang continues with its first `workers`
   * workers, and no worker with a higher rank runs.
   */
  | {
      readonly kind: "joinFailed";
      readonly attemptId: AttemptId;
      readonly workers: number;
      readonly detail: string;
    }
  /**
   * The executor has brought a checkpoint to the store of its workload, or cannot. The attempt may have ended meanwhile. A
   * repeated report changes nothing.
   */
  | {
      readonly kind: "checkpointStored";
      readonly workloadId: WorkloadId;
      readonly attemptId: AttemptId;
      readonly task: number;
      readonly step: number;
      readonly checkpoint: ReportedArtifact;
    }
  /**
   * The attempt never ran (for example because its directory does not exist), or its supervisor ended without a record
   * of its exit.
   */
  | {
      readonly kind: "attemptLost";
      readonly attemptId: AttemptId;
      readonly detail: string;
      /** Present if the workload itself may have caused the loss. Absent: the machine caused it. */
      readonly cause?: LossCause;
    };

/**
 * The state of an order, as its provisioner states it. `ordered`: accepted. `arriving`: machines are starting, or run.
 * `failed`: no further machine comes. `gone`: none of its machines exists.
 */
export interface ProvisionerReport {
  readonly state: "ordered" | "arriving" | "failed" | "gone";
  readonly detail: string;
  /** Names of all machines of the order. Absent: not known. */
  readonly nodes?: readonly NodeId[];
  /** Released machines that do not exist any more. */
  readonly released?: readonly NodeId[];
  /** The order has failed, and no machine of it exists beside its nodes in the fleet. */
  readonly isRestStopped?: true;
  readonly expectedAtMs?: number;
  readonly priceMicroUsdPerHour?: number;
}

/** An artifact at the end of its attempt. The executor, not the work, has read the bytes and computed the digest. */
export interface ReportedArtifact {
  readonly name: string;
  readonly path: string;
  /** Absent: the executor cannot read the bytes. */
  readonly digest?: string;
  readonly bytes?: number;
  /** A place in a store to which the executor has brought these bytes. `rule`: of the store, for bytes that had none. Absent: it has none, or several. */
  readonly stored?: { readonly store: string; readonly uri: string; readonly rule?: string };
  /** Why the bytes have no digest or are not in the store of the workload, although the executor could read them: the artifact is not registered. */
  readonly problem?: string;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly parameters?: Readonly<Record<string, string>>;
}

/**
 * Progress of an attempt: attempt id, step, total number of steps. It is a tuple, because an input may contain
 * thousands of them.
 */
export type ProgressEstimate = readonly [attemptId: AttemptId, step: number, totalSteps: number];

/**
 * An attempt id, and the time in ms since which none of the attempt's accelerators has been busy. `null`: one of them
 * is busy again.
 */
export type IdleChange = readonly [attemptId: AttemptId, idleSinceMs: number | null];

/** Utilisation of an attempt's accelerators since the last report, for workers that report it. */
export interface UtilizationReport {
  readonly accelerators: number;
  /** Number of accelerators whose utilisation is above the noise level. */
  readonly busyAccelerators: number;
  /** Part of the time that the accelerators were busy, as a mean over them, in thousandths. */
  readonly busyMilli: number;
  /** Largest memory in use on one accelerator, and smallest memory that an accelerator has. `null`: not reported. */
  readonly peakMemoryMib: number | null;
  readonly capacityMib: number | null;
}

/** A kind of invalid line in the progress file of an attempt, with the first such line as an example. */
export interface RejectedLine {
  readonly problem: string;
  /** An example of a valid line. */
  readonly expected: string;
  /** The invalid line, shortened and without control characters. */
  readonly line: string;
  /** Rank of the worker that wrote the line, or `null` if it is unknown. */
  readonly worker: number | null;
  /** Number of invalid lines of this kind. */
  readonly count: number;
}

export type Signal =
  | ({ readonly kind: "utilizationReported"; readonly attemptId: AttemptId } & UtilizationReport)
  | {
      readonly kind: "progressReported";
      readonly attemptId: AttemptId;
      readonly step: number;
      readonly totalSteps: number | null;
      readonly metrics: Readonly<Record<string, number>>;
    }
  /**
   * Expected ends of many attempts that have moved. A driver sends only these to the engine and stores the progress
   * reports outside the journal.
   */
  | { readonly kind: "estimatesReported"; readonly estimates: readonly ProgressEstimate[] }
  /** Attempts whose accelerators became idle or busy again, collected over many attempts. */
  | { readonly kind: "idleChangesReported"; readonly changes: readonly IdleChange[] }
  | {
      readonly kind: "artifactReported";
      readonly attemptId: AttemptId;
      readonly name: string;
      readonly path: string;
    }
  /**
   * Invalid lines that were found so far in the progress file of an attempt. The engine ignores them; drivers store
   * them with telemetry.
   */
  | {
      readonly kind: "linesRejected";
      readonly attemptId: AttemptId;
      readonly count: number;
      readonly faults: readonly RejectedLine[];
    }
  /**
   * Seconds that workers worked on steps, without waiting for others, by step and rank. The engine ignores them; drivers compare the
   * ranks and store the slow ones with telemetry.
   */
  | {
      readonly kind: "stepTimesReported";
      readonly attemptId: AttemptId;
      readonly times: readonly (readonly [
        step: number,
        rank: number,
        seconds: number,
        /** Seconds of parts of the step, by name. */
        parts?: Readonly<Record<string, number>>,
      ])[];
    }
  | {
      readonly kind: "checkpointReported";
      readonly attemptId: AttemptId;
      readonly step: number;
      readonly path: string;
      /** By which stored checkpoints are compared. Absent: none. */
      readonly metrics?: Readonly<Record<string, number>>;
    };

export type Tick = { readonly kind: "tick" };

/**
 * The batch runs no round: its inputs are taken in, and nothing is placed, evicted or expired. A control plane in safe
 * mode adds it to every batch, so that the recorded inputs repeat its decisions.
 */
export type NoRound = { readonly kind: "noRound" };

export type Input = Command | Observation | Signal | Tick | NoRound;
