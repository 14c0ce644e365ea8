/** The journal's events in the form in which they are streamed: every event as it was recorded, with its sequence. */
import { z } from "zod";
import { bytesTransferred, storesChanged } from "./store-event.ts";
import { evictionPlan, evictionReason, nodeSpec, nomination } from "./event-parts.ts";
import { endpointBudgetCrossed, endpointScaled, overflowCharged, rolloutStarted } from "./endpoint-event.ts";
import { executorModes } from "./executor.ts";
import { historyEvent } from "./imported-history.ts";
import { qualificationCauses, qualificationSuites } from "./qualification.ts";
import {
  calendarEntry,
  count,
  instantMs,
  pipeline,
  policy,
  pool,
  schedule,
  site,
  teamSpec,
  recordedChanges,
  workloadSpec,
} from "@headroom/spec";
import { applyChange } from "./apply.ts";
import { artifact, attemptOutcome, closedBy, prediction, stopReason, workerAllocation, workerExit } from "./attempt.ts";
import { rolloutAction, rolloutGround } from "./rollout.ts";
import { recordedArtifactChange, registeredVersion } from "./artifact.ts";
import { orderArrival, orderPhase, recordedOrder, burstGround } from "./capacity-order.ts";
import {
  proposalKind,
  proposalPhase,
  proposalScore,
  recordedEffect,
  recordedProposal,
  recordedProposalRule,
} from "./proposal.ts";
import { endedRunPhase, endedStepPhase, runTrigger, stepReason } from "./pipeline.ts";
import { incidentAnnotation, nodeFault } from "./incident.ts";
import { endReason } from "./workload.ts";
import { changeableField } from "./workload-changes.ts";

/** The schema of an event. It accepts every version that was ever recorded; fields of later versions are optional. */
const fact = <Kind extends string, Shape extends z.ZodRawShape>(
  kind: Kind,
  shape: Shape,
): z.ZodObject<{ kind: z.ZodLiteral<Kind>; version: z.ZodInt; atMs: typeof instantMs } & Shape> =>
  z.object({ kind: z.literal(kind), version: z.int(), atMs: instantMs, ...shape });

const waitsFor = z.union([
  z.object({ workloadId: z.string(), on: z.enum(["ok", "failed", "any"]) }),
  z.object({ workloadId: z.string(), on: z.literal("artifact"), artifact: z.string() }),
]);

const commandResult = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("workloadSubmitted"), workloadId: z.string() }),
    z.object({ kind: z.literal("workloadStopping"), workloadId: z.string() }),
    z.object({ kind: z.literal("workloadRerun"), workloadId: z.string(), tasks: count }),
    z.object({ kind: z.literal("workloadChanged"), workloadId: z.string(), fields: z.array(changeableField) }),
    z.object({ kind: z.literal("workloadHeld"), workloadId: z.string() }),
    z.object({ kind: z.literal("taskStopping"), workloadId: z.string(), task: count }),
    z.object({ kind: z.literal("execStarted"), attemptId: z.string(), task: count, nodeId: z.string() }),
    z.object({ kind: z.literal("faultsReported"), nodeId: z.string() }),
    z.object({ kind: z.literal("incidentAnnotated"), incident: z.string() }),
    z.object({ kind: z.literal("workloadReleased"), workloadId: z.string() }),
    z.object({ kind: z.literal("applied"), changes: z.array(applyChange) }),
    z.object({ kind: z.literal("teamRemoved"), team: z.string() }),
    z.object({ kind: z.literal("nodeDraining"), nodeId: z.string() }),
    z.object({ kind: z.literal("workloadRestarting"), workloadId: z.string(), attempts: count }),
    z.object({ kind: z.literal("nodeResumed"), nodeId: z.string() }),
    z.object({ kind: z.literal("nodeQualifying"), nodeId: z.string() }),
    z.object({ kind: z.literal("nodeRemoved"), nodeId: z.string(), workloads: count }),
    z.object({ kind: z.literal("poolRemoved"), pool: z.string(), nodes: count, workloads: count }),
    z.object({ kind: z.literal("siteRemoved"), site: z.string(), pools: count, nodes: count, workloads: count }),
    z.object({ kind: z.literal("nodeNoticed"), nodeId: z.string(), goneAtMs: instantMs }),
    z.object({ kind: z.literal("noticeWithdrawn"), nodeId: z.string() }),
    z.object({ kind: z.literal("scheduleRemoved"), name: z.string() }),
    z.object({ kind: z.literal("pipelineRemoved"), name: z.string() }),
    z.object({ kind: z.literal("pipelineRunsStarted"), name: z.string(), runIds: z.array(z.string()) }),
    z.object({ kind: z.literal("pipelineRunCancelling"), runId: z.string() }),
    z.object({ kind: z.literal("pipelineRunRetried"), runId: z.string(), steps: count }),
    z.object({
      kind: z.literal("pipelineStepDecided"),
      runId: z.string(),
      step: z.string(),
      isApproved: z.boolean(),
    }),
    z.object({ kind: z.literal("calendarEntryRemoved"), name: z.string() }),
    z.object({ kind: z.literal("capacityOrderSet"), name: z.string(), phase: orderPhase }),
    z.object({ kind: z.literal("artifactRegistered"), artifact: z.string(), number: count }),
    z.object({ kind: z.literal("artifactChanged"), artifact: z.string(), number: count.nullable() }),
    z.object({ kind: z.literal("executorSet"), executor: z.string(), attempts: count }),
    z.object({ kind: z.literal("proposalSet"), id: z.string(), phase: proposalPhase }),
    z.object({ kind: z.literal("proposalRuleSet"), of: proposalKind }),
    z.object({ kind: z.literal("policySet"), name: z.string() }),
  ])
  .meta({ id: "CommandResult" });

/** The user who declared a resource. Absent in events of earlier builds, and for a pool that an executor reported. */
const declaredBy = { actor: z.string().optional() };

export const event = z
  .discriminatedUnion("kind", [
    fact("siteDefined", { site, ...declaredBy }),
    fact("executorRegistered", {
      executor: z.object({
        id: z.string(),
        kind: z.string(),
        capabilities: z.object({
          checkpointOnRequest: z.boolean(),
          resize: z.boolean(),
          replaceWorkers: z.boolean(),
          logs: z.boolean(),
          images: z.boolean().optional(),
          secrets: z.boolean().optional(),
          secretRules: z.array(z.string()).optional(),
          inputs: z.boolean().optional(),
          uploads: z.boolean().optional(),
          uploadsFrom: z.array(z.string()).optional(),
          submitters: z.boolean().optional(),
        }),
      }),
    }),
    fact("executorDeclared", { executor: z.string(), mode: z.enum(executorModes), actor: z.string() }),
    fact("executorLost", { executor: z.string(), detail: z.string() }),
    fact("executorReturned", { executor: z.string() }),
    fact("executorRemoved", { executor: z.string(), actor: z.string() }),
    fact("executorAbandoned", { executor: z.string(), attempts: count, actor: z.string(), reason: z.string() }),
    fact("historyImported", { history: historyEvent, actor: z.string() }),
    fact("poolDefined", { pool, ...declaredBy }),
    fact("nodeJoined", { node: nodeSpec }),
    fact("nodeChanged", { node: nodeSpec }),
    fact("nodeRelabelled", {
      nodeId: z.string(),
      fabric: z.array(z.string()),
      labels: z.record(z.string(), z.string()),
    }),
    fact("faultsReported", { nodeId: z.string(), faults: z.array(nodeFault), actor: z.string() }),
    fact("incidentAnnotated", { incident: z.string(), annotation: incidentAnnotation, actor: z.string() }),
    fact("nodeLost", { nodeId: z.string(), detail: z.string() }),
    fact("nodeReturned", { nodeId: z.string() }),
    fact("foreignUseChanged", {
      nodeId: z.string(),
      use: z.object({ accelerators: z.string(), coresMilli: count, memoryMib: count }).nullable(),
    }),
    fact("nodeCacheChanged", {
      nodeId: z.string(),
      added: z.array(z.object({ uri: z.string(), digest: z.string().nullable(), mib: count })),
      removed: z.array(z.string()),
    }),
    fact("nodeQualificationRequired", {
      nodeId: z.string(),
      suite: z.enum(qualificationSuites),
      cause: z.enum(qualificationCauses),
      actor: z.string().nullable(),
    }),
    fact("nodeQualificationStarted", { nodeId: z.string(), run: count, expectedMs: count }),
    fact("nodeQualificationEnded", {
      nodeId: z.string(),
      outcome: z.enum(["passed", "waived", "retried", "failed"]),
      detail: z.string(),
      durationMs: count,
    }),
    fact("storesChanged", storesChanged),
    fact("nodeDrainStarted", { nodeId: z.string(), actor: z.string() }),
    fact("nodeResumed", { nodeId: z.string(), actor: z.string() }),
    fact("nodeRemovalRequested", { nodeId: z.string(), actor: z.string() }),
    fact("nodeRemovalCancelled", { nodeId: z.string(), actor: z.string() }),
    fact("nodeRemoved", { nodeId: z.string(), actor: z.string() }),
    fact("poolRemovalRequested", { pool: z.string(), actor: z.string() }),
    fact("poolRemovalCancelled", { pool: z.string(), actor: z.string() }),
    fact("poolRemoved", { pool: z.string(), actor: z.string() }),
    fact("siteRemovalRequested", { site: z.string(), actor: z.string() }),
    fact("siteRemovalCancelled", { site: z.string(), actor: z.string() }),
    fact("siteRemoved", { site: z.string(), actor: z.string() }),
    fact("artifactRegistered", { artifact: registeredVersion }),
    fact("artifactNotRegistered", { attemptId: z.string(), name: z.string(), detail: z.string() }),
    fact("artifactChanged", {
      artifact: z.string().meta({ description: "The artifact in full, with its team: `model:default/chat`." }),
      change: recordedArtifactChange,
      actor: z.string().nullable().meta({ description: "null: the retention of the artifact." }),
      reason: z.string(),
    }),
    fact("capacityOrderCreated", {
      order: recordedOrder,
      phase: orderPhase,
      actor: z.string(),
      reason: z.string(),
    }),
    fact("capacityOrderAdvanced", {
      name: z.string(),
      phase: orderPhase,
      actor: z.string(),
      reason: z.string(),
      arrival: orderArrival.optional(),
    }),
    fact("capacityOrderCancelled", { name: z.string(), actor: z.string(), reason: z.string() }),
    fact("capacityOrderNodeJoined", { name: z.string(), nodeId: z.string() }),
    fact("capacityOrderQualifying", { name: z.string() }),
    fact("capacityOrderFilled", { name: z.string() }),
    fact("capacityOrderEmptied", { name: z.string() }),
    fact("capacityOrderDecided", {
      order: recordedOrder,
      provisioner: z.string(),
      releaseAfterMs: z.int(),
      ground: burstGround,
      requestId: z.null().optional(),
    }),
    fact("capacityOrderIdentified", { name: z.string(), requestId: z.string() }),
    fact("capacityOrderRestStopped", { name: z.string() }),
    fact("capacityOrderReported", {
      name: z.string(),
      phase: orderPhase,
      detail: z.string(),
      nodes: z.array(z.string()).optional(),
      expectedAtMs: instantMs.optional(),
      priceMicroUsdPerHour: z.int().optional(),
    }),
    fact("capacityOrderFailed", {
      name: z.string(),
      detail: z.string(),
      retryAtMs: instantMs,
      missingCount: count.optional(),
    }),
    fact("capacityNodesReleased", {
      name: z.string(),
      nodes: z.array(z.string()),
      reason: z.enum(["idle", "lost", "ended"]),
      idleMs: z.int(),
      isWhole: z.boolean().meta({ description: "The order has no other nodes, and is leaving." }),
      actor: z.string().nullable().meta({ description: "null: the engine." }),
    }),
    fact("proposalCreated", { proposal: recordedProposal }),
    fact("proposalSimulated", { id: z.string(), effect: recordedEffect }),
    fact("proposalApproved", { id: z.string(), actor: z.string().nullable(), reason: z.string() }),
    fact("proposalRejected", { id: z.string(), actor: z.string(), reason: z.string() }),
    fact("proposalWithdrawn", { id: z.string(), actor: z.string(), reason: z.string() }),
    fact("proposalExpired", { id: z.string() }),
    fact("proposalActed", { id: z.string(), migrations: count.optional() }),
    fact("proposalFailed", { id: z.string(), code: z.string() }),
    fact("proposalScored", { id: z.string(), score: proposalScore }),
    fact("proposalRuleSet", { rule: recordedProposalRule, actor: z.string() }),
    fact("hotSpareReserved", { nodeId: z.string() }),
    fact("hotSpareReleased", {
      nodeId: z.string(),
      reason: z.enum(["taken", "lost", "drained", "calendar", "fewer", "foreignWork"]),
      workloadId: z.string().nullable().meta({ description: "Workload that got the place." }),
    }),
    fact("teamDefined", { team: teamSpec, ...declaredBy }),
    fact("teamRemoved", { team: z.string(), ...declaredBy }),
    fact("policySet", { policy, ...declaredBy }),
    fact("calendarSet", { entry: calendarEntry, actor: z.string(), nodes: z.array(z.string()).optional() }),
    fact("calendarRemoved", { name: z.string(), actor: z.string() }),
    fact("windowBegan", { name: z.string() }),
    fact("windowEnded", { name: z.string(), fingerprint: z.string().optional() }),
    fact("scheduleSet", { schedule, actor: z.string() }),
    fact("scheduleRemoved", { name: z.string(), actor: z.string() }),
    fact("pipelineSet", { pipeline, actor: z.string() }),
    fact("pipelineRemoved", { name: z.string(), actor: z.string() }),
    fact("pipelineRunCreated", {
      runId: z.string(),
      name: z.string(),
      params: z.record(z.string(), z.string()),
      trigger: runTrigger,
      force: z.boolean(),
      actor: z.string(),
    }),
    fact("pipelineDue", { name: z.string(), dueAtMs: instantMs, runId: z.string().nullable(), left: z.string() }),
    fact("pipelineNotTriggered", { name: z.string(), trigger: runTrigger, left: z.string() }),
    fact("pipelineRunStarted", { runId: z.string() }),
    fact("pipelineStepExpanded", { runId: z.string(), step: z.string(), items: z.array(z.string()) }),
    fact("pipelineStepStarted", {
      runId: z.string(),
      step: z.string(),
      workloadId: z.string(),
      cacheKey: z.string().optional(),
    }),
    fact("pipelineApprovalRequested", { runId: z.string(), step: z.string(), proposal: z.string().optional() }),
    fact("pipelineStepDecided", {
      runId: z.string(),
      step: z.string(),
      isApproved: z.boolean(),
      actor: z.string(),
      reason: z.string(),
    }),
    fact("pipelineStepEnded", {
      runId: z.string(),
      step: z.string(),
      phase: endedStepPhase,
      reason: stepReason.nullable(),
      artifacts: z.array(artifact).optional(),
      reuses: z.string().optional(),
      cacheKey: z.string().optional(),
    }),
    fact("pipelineRunCancelRequested", { runId: z.string(), actor: z.string() }),
    fact("pipelineRunRetried", {
      runId: z.string(),
      actor: z.string(),
      from: z.string().nullable(),
      force: z.boolean(),
      again: z.array(z.string()),
      collapsed: z.array(z.string()),
    }),
    fact("pipelineRunEnded", { runId: z.string(), phase: endedRunPhase }),
    fact("scheduleRan", { name: z.string(), dueAtMs: instantMs, submittedId: z.string().nullable(), left: z.string() }),
    fact("budgetCrossed", {
      team: z.string(),
      percent: count,
      resource: z.enum(["gpuHours", "money"]),
      limit: z.number(),
      spent: z.number(),
      periodStartMs: instantMs,
    }),
    fact("budgetRenewed", { team: z.string() }),
    fact("endpointBudgetCrossed", endpointBudgetCrossed),
    fact("endpointBudgetRenewed", { workloadId: z.string() }),
    fact("overflowCharged", overflowCharged),
    fact("commandAnswered", { key: z.string(), fingerprint: z.string(), result: commandResult }),
    fact("startWindowOpened", { workloadId: z.string() }),
    fact("startWindowClosed", { workloadId: z.string() }),
    fact("workloadSubmitted", {
      workloadId: z.string(),
      spec: workloadSpec,
      actor: z.string(),
      waitsFor: z.array(waitsFor).optional(),
      given: z.array(artifact).optional(),
    }),
    fact("workloadRerun", {
      workloadId: z.string(),
      actor: z.string(),
      waitsFor: z.array(waitsFor).optional(),
      given: z.array(artifact).optional(),
    }),
    fact("workloadChanged", {
      workloadId: z.string(),
      actor: z.string(),
      changes: recordedChanges,
      waitsFor: z.array(waitsFor).optional(),
      given: z.array(artifact).optional(),
    }),
    fact("workloadHeld", { workloadId: z.string(), actor: z.string() }),
    fact("workloadReleased", { workloadId: z.string(), actor: z.string() }),
    fact("workloadStopRequested", { workloadId: z.string(), actor: z.string() }),
    fact("workloadEnded", {
      workloadId: z.string(),
      phase: z.enum(["succeeded", "failed", "cancelled"]),
      reason: endReason,
    }),
    fact("gangPlaced", {
      attemptId: z.string(),
      workloadId: z.string(),
      task: count,
      number: count,
      acceleratorType: z.string(),
      workers: z.array(workerAllocation),
      prediction: prediction.optional(),
      launchAtMs: instantMs.optional(),
      stagingMs: count.optional().meta({ description: "Longest expected time of the transfer of its inputs." }),
    }),
    fact("bytesTransferred", bytesTransferred),
    fact("backoffEnded", { attemptId: z.string() }),
    fact("attemptStarted", { attemptId: z.string() }),
    fact("replicaReady", { attemptId: z.string(), address: z.string() }),
    fact("replicaNotReady", { attemptId: z.string(), detail: z.string() }),
    fact("endpointScaled", endpointScaled),
    fact("rolloutStarted", rolloutStarted),
    fact("rolloutSteered", {
      workloadId: z.string(),
      actor: z.string(),
      action: rolloutAction,
      ground: rolloutGround,
    }),
    fact("rolloutSized", {
      workloadId: z.string(),
      stable: count.meta({ description: "Replicas that the present revision should have." }),
      canary: count.meta({ description: "Replicas that the new revision should have." }),
    }),
    fact("rolloutEnded", {
      workloadId: z.string(),
      actor: z.string(),
      outcome: z.enum(["completed", "rolledBack"]),
      ground: rolloutGround,
    }),
    fact("taskStopRequested", { workloadId: z.string(), task: count, actor: z.string() }),
    fact("execStarted", {
      attemptId: z.string(),
      worker: count,
      run: z.string(),
      terminal: z.boolean(),
      actor: z.string(),
    }),
    fact("predictionCorrected", { attemptId: z.string(), prediction }),
    fact("attemptStopRequested", {
      attemptId: z.string(),
      reason: stopReason,
      closedBy: closedBy.optional(),
    }),
    fact("checkpointRequested", { attemptId: z.string(), untilMs: instantMs }),
    fact("checkpointWaitEnded", {
      attemptId: z.string(),
      outcome: z.enum(["saved", "timedOut", "cutShort"]),
      reason: stopReason,
    }),
    fact("attemptEnded", {
      attemptId: z.string(),
      outcome: attemptOutcome,
      exit: workerExit.nullable(),
      detail: z.string(),
      retryAtMs: instantMs.nullable(),
      failures: count
        .optional()
        .meta({ description: "Number of ends of the replica in a row, with this one; absent: no replica." }),
      losses: count.optional(),
      givenUp: z.literal(true).optional(),
    }),
    fact("gangShrinkRequested", { attemptId: z.string(), workers: count, reason: evictionReason }),
    fact("workersLeft", { attemptId: z.string() }),
    fact("gangGrown", { attemptId: z.string(), workers: z.array(workerAllocation) }),
    fact("joinFailed", { attemptId: z.string(), workers: count, detail: z.string() }),
    fact("gangDegraded", {
      attemptId: z.string(),
      nodeId: z.string(),
      lostRanks: z.array(count),
      ahead: z.literal(true).optional(),
    }),
    fact("workersReplaced", { attemptId: z.string(), workers: z.array(workerAllocation) }),
    fact("workersJoined", { attemptId: z.string() }),
    fact("placementNominated", { nomination }),
    fact("nominationWithdrawn", { attemptId: z.string(), reason: z.string() }),
    fact("opportunisticJobRelabelled", { attemptId: z.string(), workloadId: z.string() }),
    fact("evictionPlanned", evictionPlan.shape),
    fact("progressEstimated", {
      estimates: z.array(z.tuple([z.string(), count, count])).meta({
        description:
          "[attempt, step, total steps] for each attempt whose expected end moved by more than a tenth of the remaining time.",
      }),
    }),
    fact("idleChanged", {
      changes: z.array(z.tuple([z.string(), instantMs.nullable()])).meta({
        description: "[attempt, time since which its accelerators are idle]; null: an accelerator is busy again.",
      }),
    }),
    fact("progressRecorded", {
      attemptId: z.string(),
      step: count,
      totalSteps: count.nullable(),
      metrics: z.record(z.string(), z.number()),
    }),
    fact("utilizationRecorded", {
      attemptId: z.string(),
      accelerators: count,
      busyAccelerators: count,
      busyMilli: count,
      peakMemoryMib: count.nullable(),
      capacityMib: count.nullable(),
    }),
    fact("eventHidden", {}).meta({
      description:
        "An event about a team that the reader may not see. It is never recorded; it stands for one that is.",
    }),
    fact("artifactRecorded", { attemptId: z.string(), name: z.string(), path: z.string() }),
    fact("checkpointRecorded", { attemptId: z.string(), step: count, path: z.string() }),
  ])
  .meta({ id: "Event" });

export const eventEnvelope = z
  .object({
    sequence: z
      .int()
      .positive()
      .meta({ description: "Sequence number of the event; numbers start at 1 and have no gaps." }),
    event,
  })
  .meta({ id: "EventEnvelope" });

export type Event = z.output<typeof event>;
export type EventEnvelope = z.output<typeof eventEnvelope>;
