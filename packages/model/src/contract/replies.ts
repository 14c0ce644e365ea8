/**
 * The answer to a command: accepted with its result, or rejected with a code from a fixed list and the data behind it.
 */
import type { GateTest } from "../resources/artifact.ts";
import type { CapacityOrderPhase } from "../resources/capacity-order.ts";
import type { ProposalKind, ProposalPhase } from "../resources/proposal.ts";
import type { PipelineRunId } from "../resources/pipeline.ts";
import type { ReplicaRange } from "../resources/workload.ts";
import type { ChangeableField } from "../resources/workload-changes.ts";
import type { AttemptId, CommandId, NodeId, PoolName, SiteName, TeamName, WorkloadId } from "../resources/ids.ts";

export type ApplyChange = {
  readonly kind: "site" | "pool" | "team" | "workload" | "calendar" | "schedule" | "pipeline";
  readonly name: string;
  readonly action: "created" | "changed" | "unchanged";
  readonly workloadId: WorkloadId | null;
  /** Fields of a workload that change in place. Absent: it is submitted, or does not change. */
  readonly fields?: readonly ChangeableField[];
};

export type CommandResult =
  | { readonly kind: "workloadSubmitted"; readonly workloadId: WorkloadId }
  | { readonly kind: "workloadStopping"; readonly workloadId: WorkloadId }
  | { readonly kind: "taskStopping"; readonly workloadId: WorkloadId; readonly task: number }
  /** `tasks`: number of tasks that run again. */
  | { readonly kind: "workloadRerun"; readonly workloadId: WorkloadId; readonly tasks: number }
  /** `fields`: the changed fields. Empty: every field had the requested value. */
  | {
      readonly kind: "workloadChanged";
      readonly workloadId: WorkloadId;
      readonly fields: readonly ChangeableField[];
    }
  | { readonly kind: "workloadHeld"; readonly workloadId: WorkloadId }
  | { readonly kind: "execStarted"; readonly attemptId: AttemptId; readonly task: number; readonly nodeId: NodeId }
  | { readonly kind: "incidentAnnotated"; readonly incident: string }
  | { readonly kind: "faultsReported"; readonly nodeId: NodeId }
  | { readonly kind: "workloadReleased"; readonly workloadId: WorkloadId }
  | { readonly kind: "applied"; readonly changes: readonly ApplyChange[] }
  | { readonly kind: "teamRemoved"; readonly team: TeamName }
  | { readonly kind: "nodeDraining"; readonly nodeId: NodeId }
  /** `attempts`: number of attempts that are stopped. */
  | { readonly kind: "workloadRestarting"; readonly workloadId: WorkloadId; readonly attempts: number }
  | { readonly kind: "nodeResumed"; readonly nodeId: NodeId }
  | { readonly kind: "nodeQualifying"; readonly nodeId: NodeId }
  /** `workloads`: number of workloads that are stopped and requeued first. 0: the removal is complete. */
  | { readonly kind: "nodeRemoved"; readonly nodeId: NodeId; readonly workloads: number }
  | { readonly kind: "poolRemoved"; readonly pool: PoolName; readonly nodes: number; readonly workloads: number }
  | {
      readonly kind: "siteRemoved";
      readonly site: SiteName;
      readonly pools: number;
      readonly nodes: number;
      readonly workloads: number;
    }
  | { readonly kind: "nodeNoticed"; readonly nodeId: NodeId; readonly goneAtMs: number }
  | { readonly kind: "noticeWithdrawn"; readonly nodeId: NodeId }
  | { readonly kind: "scheduleRemoved"; readonly name: string }
  | { readonly kind: "pipelineRemoved"; readonly name: string }
  | { readonly kind: "pipelineRunsStarted"; readonly name: string; readonly runIds: readonly PipelineRunId[] }
  | { readonly kind: "pipelineRunCancelling"; readonly runId: PipelineRunId }
  /** `steps`: number of steps, and items of steps, that run again. Items that are found out again are not counted. */
  | { readonly kind: "pipelineRunRetried"; readonly runId: PipelineRunId; readonly steps: number }
  | {
      readonly kind: "pipelineStepDecided";
      readonly runId: PipelineRunId;
      readonly step: string;
      readonly isApproved: boolean;
    }
  | { readonly kind: "calendarEntryRemoved"; readonly name: string }
  | { readonly kind: "capacityOrderSet"; readonly name: string; readonly phase: CapacityOrderPhase }
  /** `attempts`: number of attempts at the executor; after they were given up, the number of those. */
  | { readonly kind: "executorSet"; readonly executor: string; readonly attempts: number }
  | { readonly kind: "proposalSet"; readonly id: string; readonly phase: ProposalPhase }
  | { readonly kind: "proposalRuleSet"; readonly of: ProposalKind }
  /** `artifact`: the id of the version. */
  | { readonly kind: "artifactRegistered"; readonly artifact: string; readonly number: number }
  /** `artifact`: the key of the name. `number: null`: the change is about the name. */
  | { readonly kind: "artifactChanged"; readonly artifact: string; readonly number: number | null }
  | { readonly kind: "policySet"; readonly name: string };

/**
 * Reason why a field of a workload cannot change in its present state. `stopping`: the workload is being stopped.
 * `started`: a task has started, and the field acts only before the start. `groups`: the gang has task groups.
 * `fixedSize`: the gang runs and is not elastic. `outsideRange`: the gang runs with `workers` workers, outside the new
 * range. `emptyRange`: the minimum is above the maximum. `slices`: a slice would not be whole. `batch`: tasks of an array
 * are not elastic.
 */
export interface ChangeRefusal {
  readonly field: ChangeableField;
  readonly cause:
    | "stopping"
    | "started"
    | "groups"
    | "fixedSize"
    | "outsideRange"
    | "emptyRange"
    | "slices"
    | "batch"
    | "otherKind"
    | "fewerTasks"
    | "outsideReplicas"
    /** The budget of the endpoint is spent. */
    | "budgetSpent"
    /** Another user submitted the workload, and it would run with that user's rights. */
    | "otherSubmitter"
    /** A rollout is in progress. */
    | "rollingOut";
  /** Number of workers with which an attempt runs. Absent: none runs, or it does not matter. */
  readonly workers?: number;
  /** `outsideReplicas`: the bounds of the endpoint. */
  readonly replicas?: ReplicaRange;
}

export type Rejection =
  | { readonly code: "unknownTeam"; readonly team: string }
  | { readonly code: "teamCycle"; readonly teams: readonly string[] }
  | {
      readonly code: "teamInUse";
      readonly team: string;
      readonly workloads: number;
      readonly children: number;
      readonly artifacts?: number;
    }
  | { readonly code: "unknownSite"; readonly site: string }
  | { readonly code: "unknownWorkload"; readonly workloadId: string }
  | { readonly code: "workloadEnded"; readonly workloadId: string; readonly phase: string }
  | { readonly code: "workloadNotEnded"; readonly workloadId: string; readonly phase: string }
  /**
   * `allSucceeded`: no task is left to rerun. `tasksUnknown`: the workload ended before the journal recorded failed
   * tasks. `endpoint`: replicas have no end that a rerun could repeat.
   */
  | {
      readonly code: "cannotRerun";
      readonly workloadId: string;
      readonly cause: "allSucceeded" | "tooManyTasks" | "tasksUnknown" | "endpoint";
      readonly taskCount: number;
      readonly maxCount: number;
    }
  /** `fields`: fields that differ and need a new workload. Absent: not recorded. */
  | {
      readonly code: "workloadActive";
      readonly workloadId: string;
      readonly name: string;
      readonly fields?: readonly string[];
    }
  | ({ readonly code: "cannotChange"; readonly workloadId: string } & ChangeRefusal)
  /** No rollout of the workload is in progress. */
  | { readonly code: "noRollout"; readonly workloadId: string }
  /** No attempt of the workload, or of the task, runs. `task: null`: no task was named. */
  | { readonly code: "notRunning"; readonly workloadId: string; readonly task: number | null }
  | { readonly code: "unknownTask"; readonly workloadId: string; readonly task: number; readonly tasks: number }
  /** The task has succeeded, or was given up. */
  | { readonly code: "taskEnded"; readonly workloadId: string; readonly task: number }
  | { readonly code: "unknownWorker"; readonly attemptId: string; readonly worker: number; readonly workers: number }
  | { readonly code: "duplicateName"; readonly kind: string; readonly name: string }
  | { readonly code: "unknownNode"; readonly nodeId: string }
  /** The pool of the node has no rule of qualification, so that there is no suite to pass. */
  | { readonly code: "noQualification"; readonly nodeId: string; readonly pool: string }
  /** Work holds places on these nodes, so they are not removed. `of`: what was to be removed, such as `pool h100`. */
  | {
      readonly code: "fleetInUse";
      readonly of: "node" | "pool" | "site";
      readonly name: string;
      readonly workloads: number;
      readonly nodes: number;
    }
  /** The node leaves with its pool, so it cannot be resumed alone. */
  | { readonly code: "removedWithPool"; readonly nodeId: string; readonly pool: string }
  /** The node is already lost, so a notice for it is rejected. */
  | { readonly code: "nodeLost"; readonly nodeId: string }
  /** The instant of the notice is in the past. */
  | { readonly code: "noticeOver"; readonly nodeId: string; readonly goneAtMs: number; readonly nowMs: number }
  /** Calendar names of this form are reserved for node notices. */
  | { readonly code: "reservedName"; readonly name: string }
  | { readonly code: "unknownPool"; readonly pool: string }
  | { readonly code: "unknownCapacityOrder"; readonly name: string }
  /** An order of this name is not over. */
  | { readonly code: "capacityOrderExists"; readonly name: string; readonly phase: string }
  | { readonly code: "tooManyCapacityOrders"; readonly count: number; readonly maxCount: number }
  /** The pool has no node whose shape the ordered nodes could have. */
  | { readonly code: "unknownNodeShape"; readonly pool: string }
  /** The order cannot be brought from one phase to the other. `to: "cancelled"`: its nodes have come, or it is over. */
  | { readonly code: "cannotAdvanceOrder"; readonly name: string; readonly from: string; readonly to: string }
  | { readonly code: "unknownProposal"; readonly id: string }
  /** An open proposal asks for the same change. */
  | { readonly code: "proposalExists"; readonly id: string }
  /** `actor`: the user whose bound is reached; `null`: the bound of all. */
  | {
      readonly code: "tooManyProposals";
      readonly count: number;
      readonly maxCount: number;
      readonly actor: string | null;
    }
  /** The proposal is decided already, or over. */
  | { readonly code: "proposalDecided"; readonly id: string; readonly phase: ProposalPhase }
  | { readonly code: "proposalNotSimulated"; readonly id: string }
  /** The rule of the kind lets nobody approve. */
  | { readonly code: "proposalOnlyAdvises"; readonly id: string; readonly of: ProposalKind }
  /** The user who proposes may not approve. */
  | { readonly code: "ownProposal"; readonly id: string; readonly actor: string }
  /** Only the user who proposed withdraws. */
  | { readonly code: "othersProposal"; readonly id: string; readonly actor: string }
  /** The budget of change is used up. `pool: null`: the bound of the kind. */
  | {
      readonly code: "changeBudgetUsed";
      readonly of: ProposalKind;
      readonly pool: string | null;
      readonly count: number;
      readonly maxCount: number;
      readonly freeAtMs: number;
    }
  /** No such version that is not deleted. `artifact`: as the command names it. */
  | { readonly code: "unknownArtifact"; readonly artifact: string }
  | {
      readonly code: "tooManyArtifacts";
      readonly of: "artifacts" | "versions" | "places" | "aliases" | "tags";
      readonly maxCount: number;
    }
  /** `by`: what depends on the version, such as `alias production`; the first ones of `count`. */
  | {
      readonly code: "artifactInUse";
      readonly artifact: string;
      readonly by: readonly string[];
      readonly count: number;
    }
  | { readonly code: "artifactOnHold"; readonly artifact: string; readonly actor: string; readonly reason: string }
  /** The change does not apply to the version as it is: it is not deleted, or not on hold, for example. */
  | { readonly code: "artifactUnchanged"; readonly artifact: string; readonly change: string }
  /** The alias has a gate with approval, so it is moved by a proposal only. `artifact`: key and alias. */
  | { readonly code: "aliasGated"; readonly artifact: string; readonly number: number | null }
  /** `artifact`: the version. `value: null`: that of the version to which the alias points. `found: null`: there is none. */
  | {
      readonly code: "gateFailed";
      readonly artifact: string;
      readonly alias: string;
      readonly metric: string;
      readonly operator: GateTest["operator"];
      readonly value: number | null;
      readonly found: number | null;
    }
  | { readonly code: "unknownExecutor"; readonly executor: string }
  /** The executor answers, so its attempts cannot be given up. */
  | { readonly code: "executorReachable"; readonly executor: string }
  | { readonly code: "unknownCalendarEntry"; readonly name: string }
  | { readonly code: "unknownSchedule"; readonly name: string }
  | { readonly code: "unknownPipeline"; readonly name: string }
  | { readonly code: "unknownPipelineRun"; readonly runId: string }
  | { readonly code: "unknownPipelineStep"; readonly runId: string; readonly step: string }
  /** The definition has a fault. `path`: the field, such as `steps`, 3, `after`. */
  | {
      readonly code: "pipelineInvalid";
      readonly name: string;
      readonly path: readonly (string | number)[];
      readonly message: string;
    }
  /** `unknown`: the pipeline has no such parameter. `missing`: it has no value. `date`: a backfill needs it. */
  | {
      readonly code: "pipelineParam";
      readonly name: string;
      readonly param: string;
      readonly cause: "unknown" | "missing" | "date";
    }
  | { readonly code: "pipelineNotTriggered"; readonly name: string; readonly trigger: "webhook" | "file" | "metric" }
  | { readonly code: "pipelineRunNotEnded"; readonly runId: string; readonly phase: string }
  | { readonly code: "pipelineRunEnded"; readonly runId: string; readonly phase: string }
  | {
      readonly code: "stepNotAwaitingApproval";
      readonly runId: string;
      readonly step: string;
      readonly phase: string;
    }
  /** The step moves an alias with a gate: its proposal is decided instead. */
  | { readonly code: "stepAwaitsProposal"; readonly runId: string; readonly step: string; readonly proposal: string }
  | {
      readonly code: "tooManyPipelines";
      readonly of: "pipelines" | "runs" | "steps";
      readonly count: number;
      readonly maxCount: number;
    }
  /** The cron expression has no due time. */
  | { readonly code: "neverDue"; readonly name: string }
  /** The window ended before it was declared. */
  | { readonly code: "windowOver"; readonly name: string; readonly endMs: number; readonly nowMs: number }
  /** On the nodes without other calendar entries in this period there are not enough accelerators. */
  | {
      readonly code: "reservationTooLarge";
      readonly name: string;
      readonly wantedCount: number;
      readonly availableCount: number;
    }
  | { readonly code: "poolInUse"; readonly pool: string; readonly field: string }
  /** All pools and teams together would name more accelerator types than the engine counts. */
  | { readonly code: "tooManyTypes"; readonly count: number; readonly maxCount: number }
  | {
      readonly code: "tooLarge";
      readonly workers: number;
      readonly placeableWorkers: number;
      readonly acceleratorsPerWorker: number;
    }
  | { readonly code: "queueFull"; readonly waitingCount: number; readonly maxCount: number }
  /**
   * A dependency does not exist, or is circular. `artifact`: the artifact, if no workload produces it. `cycle`: the
   * names of workloads that wait for each other.
   */
  | {
      readonly code: "unknownDependency";
      readonly name: string;
      readonly artifact?: string;
      readonly cycle?: readonly string[];
    }
  | {
      readonly code: "dependencyNotMet";
      readonly name: string;
      readonly workloadId: string;
      readonly on: string;
      readonly phase: string;
    }
  | { readonly code: "idempotencyKeyReused"; readonly key: string };

export type Reply =
  | { readonly kind: "accepted"; readonly commandId: CommandId; readonly result: CommandResult }
  | { readonly kind: "rejected"; readonly commandId: CommandId; readonly rejection: Rejection };
