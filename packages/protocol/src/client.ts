/**
 * The interface by which console, CLI and tests use a control plane. It has two transports: HTTP (`http-client.ts`) and
 * messages to a worker (`worker-client.ts`), so the console does not know whether the fleet is live or simulated. A
 * refusal is thrown as `ProblemError`; an aborted call throws the signal's reason.
 */
import type { ExecAccepted, ExecInput, ExecOutput, ExecRequestInput, ExecStarted } from "./exec.ts";
import type { Policy, WorkloadChangesBody, WorkloadKind, WorkloadSpecInput } from "@headroom/spec";
import type { FindingList } from "./finding.ts";
import type { CapacityHistory } from "./capacity-history.ts";
import type { CauseHours, CauseHoursParameters } from "./cause-hours.ts";
import type { Costs, CostsParameters } from "./cost.ts";
import type { Offers, OffersParameters } from "./offers.ts";
import type { AdviceParameters, OrderAdvice } from "./order-advice.ts";
import type { DriftCheck, RemediationList, RemediationRun, RemediationRunList } from "./remediation.ts";
import type { Drill, DrillForecast, DrillList, DrillRequestInput } from "./drill.ts";
import type { SeriesQuery, SubjectSeries } from "./series.ts";
import type { ApplyPlan, ApplyRequestInput } from "./apply.ts";
import type { CalendarList, CalendarRemoved } from "./calendar.ts";
import type {
  MetricSourceDeclared,
  MetricSourceList,
  MetricSourceRemoved,
  MetricSourceRequestInput,
  MetricTargetPage,
  MetricTargetQuery,
} from "./metric-source.ts";
import type { StoreCacheList, StoreList, StoreRemoved, StoreRequestInput, StoreDeclared } from "./store.ts";
import type {
  ExecutorAbandoned,
  ExecutorList,
  ExecutorRemoved,
  ExecutorRequestInput,
  ExecutorSet,
} from "./executor.ts";
import type { RolloutSteered, SteerRollout } from "./rollout.ts";
import type { Trial, TrialRequestInput } from "./endpoint-trial.ts";
import type { EndpointList, LoadReport, LoadReported } from "./endpoint.ts";
import type {
  AnnotationRequestInput,
  FaultReportInput,
  FaultsAccepted,
  HealthSummary,
  Incident,
  IncidentPage,
  IncidentPhase,
} from "./incident.ts";
import type { AdvanceRequestInput, CapacityOrder, OrderPage, OrderRequestInput, OrderSet } from "./capacity-order.ts";
import type {
  ArtifactChanged,
  ArtifactChangeRequestInput,
  ArtifactKind,
  ArtifactLineage,
  ArtifactPage,
  ArtifactRegistered,
  ArtifactRequestInput,
  ArtifactResource,
  ArtifactVersion,
  ArtifactVersionPage,
  LineageDirection,
} from "./artifact.ts";
import type { Defragmentation } from "./defragmentation.ts";
import type { EventEnvelope } from "./event.ts";
import type { QualificationReport } from "./qualification.ts";
import type { Fleet, Node, NodeAccepted, NoticeAccepted, NoticeRequestInput } from "./fleet.ts";
import type { NodeRemoved, PoolRemoved, SiteRemoved } from "./fleet.ts";
import type { WorkloadHistory } from "./history.ts";
import type { NodeReadings, NodeTelemetry, NodeTelemetryQuery } from "./accelerator-readings.ts";
import type { AttemptMetrics, MetricsQuery } from "./metrics.ts";
import type {
  ExpectedStart,
  StartEstimate,
  StartingChanges,
  SubmissionForecast,
  WhatIfAnswer,
  WhatIfQuestionInput,
} from "./forecast.ts";
import type { LogMatchPage, LogSearchQuery } from "./log-search.ts";
import type { LogChunk, WorkloadUsage } from "./output.ts";
import type { Page, PageRequest } from "./page.ts";
import type {
  PipelineDecision,
  PipelineItem,
  PipelinePage,
  PipelineRemoved,
  PipelineRetryRequest,
  PipelineRun,
  PipelineRunCancelled,
  PipelineRunPage,
  PipelineRunPhase,
  PipelineRunRequest,
  PipelineRunRetried,
  PipelineRunsStarted,
  PipelineStepDecided,
  PipelineStepPage,
  PipelineTriggerRequest,
  StepPhase,
} from "./pipeline.ts";
import type { PlanDocumentsInput, PlanStored, StoredPlan } from "./plan.ts";
import type { PolicyChoice, PolicySet } from "./policy.ts";
import type { FleetPredictions, WorkloadModelInput, WorkloadPredictions } from "./predictions.ts";
import type {
  Proposal,
  ProposalDecisionInput,
  ProposalKind,
  ProposalPage,
  ProposalRequestInput,
  ProposalRule,
  ProposalRuleInput,
  ProposalRuleList,
} from "./proposal.ts";
import type { Replay, ReplayAccepted, ReplayQuestionInput } from "./replay.ts";
import type { ScheduleList, ScheduleRemoved } from "./schedule.ts";
import type { SizingAnswer, SizingQuestionInput } from "./sizing.ts";
import type { Snapshot, SnapshotQuery } from "./snapshot.ts";
import type { LoginLink, Status } from "./status.ts";
import type {
  DenialList,
  FollowedTokens,
  Identity,
  TokenCreated,
  TokenPage,
  TokenRequestInput,
  TokenRevoked,
} from "./token.ts";
import type { Team, TeamRemoved } from "./team.ts";
import type { QueuePage, Verdict } from "./verdict.ts";
import type { GatewayOverview } from "./gateway.ts";
import type { WasteList } from "./waste.ts";
import type { WorkloadChanged } from "./workload-changes.ts";
import type { Workload, WorkloadAccepted, WorkloadSubmitted, WorkloadPhase, WorkloadSummary } from "./workload.ts";

/** The part of the platform's `AbortSignal` that the client uses. */
export interface Abort {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export interface CallOptions {
  readonly signal?: Abort | undefined;
}

export interface CommandOptions extends CallOptions {
  /**
   * Idempotency key. A retry with the same key gets the first answer again. Absent: the HTTP transport generates a key.
   */
  readonly idempotencyKey?: string | undefined;
}

export interface DryRunOptions extends CommandOptions {
  readonly dryRun?: boolean;
}

export interface RemovalOptions extends CommandOptions {
  readonly force?: boolean;
}

export interface QueueQuery extends PageRequest {
  /** Only work of this team and all teams below it. */
  readonly team?: string | undefined;
  readonly kind?: WorkloadKind | undefined;
  /** Exact name. */
  readonly name?: string | undefined;
  /** Text that the workload's name or id contains; case is ignored. */
  readonly search?: string | undefined;
}

export interface QueuePageQuery extends QueueQuery {
  /** True: also counts waiting work that is not in the queue, by its reason. This reads every workload. */
  readonly holdReason?: boolean | undefined;
}

export interface ExpectedStartQuery extends PageRequest {
  /** Only work of this team and the teams below it. */
  readonly team?: string | undefined;
}

export interface WorkloadQuery extends QueueQuery {
  /** One phase, or several. */
  readonly phase?: WorkloadPhase | readonly WorkloadPhase[] | undefined;
  /** Name of the user who submitted the work. */
  readonly actor?: string | undefined;
  /** Node on which an attempt of the workload runs or ran. */
  readonly node?: string | undefined;
  readonly submittedFromMs?: number | undefined;
  /** Only workloads that ended at or after this instant. */
  readonly endedFromMs?: number | undefined;
  /** Default `newest`. */
  readonly order?: "newest" | "oldest" | undefined;
}

export interface LogQuery {
  /** Id of the attempt; absent: the newest attempt (of task 0 for a batch). With `follow`, later attempts follow. */
  readonly attempt?: string | undefined;
  /** Rank of the worker; absent: all workers. */
  readonly worker?: number | undefined;
  readonly stream?: "stdout" | "stderr" | undefined;
  readonly follow?: boolean | undefined;
  /** Number of the newest lines of each file; absent: everything that is kept. */
  readonly tailLines?: number | undefined;
  /** Only lines written at or after this instant. */
  readonly sinceMs?: number | undefined;
  readonly signal?: Abort | undefined;
}

export interface ArtifactListing extends PageRequest {
  readonly kind?: ArtifactKind | undefined;
  readonly team?: string | undefined;
  readonly search?: string | undefined;
}

export interface PipelineRunListing extends PageRequest {
  /** Only runs of this pipeline. */
  readonly pipeline?: string | undefined;
  readonly phase?: PipelineRunPhase | undefined;
}

export interface PipelineStepListing extends PageRequest {
  /** Only this step, with its items. */
  readonly step?: string | undefined;
  readonly phase?: StepPhase | undefined;
}

export interface HeadroomClient {
  listWorkloads(query?: WorkloadQuery, options?: CallOptions): Promise<Page<WorkloadSummary>>;
  getWorkload(id: string, options?: CallOptions): Promise<Workload>;
  submitWorkload(spec: WorkloadSpecInput, options?: CommandOptions): Promise<WorkloadSubmitted>;
  /** Changes fields of a workload that waits or runs. With `dryRun` nothing changes. */
  changeWorkload(
    id: string,
    changes: WorkloadChangesBody,
    options?: CommandOptions & { readonly dryRun?: boolean },
  ): Promise<WorkloadChanged>;
  /** `task`: stops only this task of an array. */
  stopWorkload(id: string, options?: CommandOptions & { readonly task?: number }): Promise<WorkloadAccepted>;
  /** Holds a workload: no further task of it starts; running tasks continue. */
  holdWorkload(id: string, options?: CommandOptions): Promise<WorkloadAccepted>;
  /** Runs the tasks of an ended workload that did not succeed again, after its earlier attempts. */
  rerunWorkload(id: string, options?: CommandOptions): Promise<WorkloadAccepted>;
  releaseWorkload(id: string, options?: CommandOptions): Promise<WorkloadAccepted>;
  explainWorkload(id: string, options?: CallOptions): Promise<Verdict>;
  /** The smallest change of each kind that would start the workload now. Each change was tried on a fork. */
  startingChanges(id: string, options?: CallOptions): Promise<StartingChanges>;
  /** Expected start, from simulations on forks. Fails with `notWaiting` if the workload does not wait for its start. */
  estimateStart(id: string, options?: CallOptions): Promise<StartEstimate>;
  /** Expected starts of all waiting work, earliest first. */
  expectedStarts(query?: ExpectedStartQuery, options?: CallOptions): Promise<Page<ExpectedStart>>;
  /** Outcome of a submission at this moment. Nothing is recorded. */
  forecastWorkload(spec: WorkloadSpecInput, options?: CallOptions): Promise<SubmissionForecast>;
  /** Forecast of the next hours with and without a change. Nothing is recorded. */
  whatIf(question: WhatIfQuestionInput, options?: CallOptions): Promise<WhatIfAnswer>;
  /** The present state as bytes, from which an engine of the same version can be restored. */
  snapshot(query?: SnapshotQuery, options?: CallOptions): Promise<Snapshot>;
  /** Starts a replay of recorded work. `replay` returns its progress. */
  startReplay(question: ReplayQuestionInput, options?: CommandOptions): Promise<ReplayAccepted>;
  replay(id: string, options?: CallOptions): Promise<Replay>;
  cancelReplay(id: string, options?: CommandOptions): Promise<ReplayAccepted>;
  /** Events of a workload, or of one attempt if its id is given. */
  workloadHistory(
    id: string,
    query?: { readonly attempt?: string | undefined },
    options?: CallOptions,
  ): Promise<WorkloadHistory>;
  /** Waiting work in the order of the policy, each with its main reason. */
  queue(query?: QueuePageQuery, options?: CallOptions): Promise<QueuePage>;
  /**
   * Applies documents. `forecast` together with `dryRun` also predicts the outcome of the first workloads that the
   * request would create.
   */
  apply(
    request: ApplyRequestInput,
    options?: CommandOptions & { readonly dryRun?: boolean; readonly forecast?: boolean },
  ): Promise<ApplyPlan>;
  /** Resources that are held or requested but not used, according to reports; of one workload if its id is given. */
  waste(query?: { readonly workload?: string | undefined }, options?: CallOptions): Promise<WasteList>;
  /** The inference gateway whose admin address the control plane knows. */
  gateway(options?: CallOptions): Promise<GatewayOverview>;
  /** Migrations that would gather idle accelerators now. None is started. */
  defragmentation(options?: CallOptions): Promise<Defragmentation>;
  fleet(options?: CallOptions): Promise<Fleet>;
  capacityHistory(options?: CallOptions): Promise<CapacityHistory>;
  listNodes(page?: PageRequest, options?: CallOptions): Promise<Page<Node>>;
  getNode(id: string, options?: CallOptions): Promise<Node>;
  /** Newest readings of all accelerators, page by page, in the order in which the nodes joined. */
  acceleratorReadings(page?: PageRequest, options?: CallOptions): Promise<Page<NodeReadings>>;
  /** Newest readings of a node's accelerators, and their history. */
  series(query: SeriesQuery, options?: CallOptions): Promise<SubjectSeries>;
  nodeTelemetry(id: string, query?: NodeTelemetryQuery, options?: CallOptions): Promise<NodeTelemetry>;
  drainNode(id: string, options?: CommandOptions & { readonly running?: "wait" | "requeue" }): Promise<NodeAccepted>;
  /** Lets a node pass the suite of its pool again. */
  qualifyNode(id: string, options?: CommandOptions): Promise<NodeAccepted>;
  nodeQualification(id: string, options?: CallOptions): Promise<QualificationReport>;
  resumeNode(id: string, options?: CommandOptions): Promise<NodeAccepted>;
  /** Endpoints that have not ended, with the addresses of their replicas. */
  endpoints(options?: CallOptions): Promise<EndpointList>;
  /** Goes on with the rollout of an endpoint, pauses it or rolls it back. */
  steerRollout(id: string, body: SteerRollout, options?: CallOptions): Promise<RolloutSteered>;
  /** The load of an endpoint as a gateway sees it. */
  /** Sends one request to an endpoint through its gateway, and waits for the whole answer. */
  tryEndpoint(id: string, body: TrialRequestInput, options?: CallOptions): Promise<Trial>;
  reportLoad(id: string, report: LoadReport, options?: CallOptions): Promise<LoadReported>;
  /** Failures of one cause, the newest first. `phase`: default `open`. */
  listIncidents(
    query?: PageRequest & { readonly phase?: IncidentPhase | "all" | undefined },
    options?: CallOptions,
  ): Promise<IncidentPage>;
  getIncident(id: string, options?: CallOptions): Promise<Incident>;
  annotateIncident(id: string, body: AnnotationRequestInput, options?: CommandOptions): Promise<Incident>;
  fleetHealth(options?: CallOptions): Promise<HealthSummary>;
  /** Findings that a change of the fleet answers, each with its proposal. */
  listFindings(options?: CallOptions): Promise<FindingList>;
  reportFaults(nodeId: string, body: FaultReportInput, options?: CommandOptions): Promise<FaultsAccepted>;
  /** Orders of nodes that are coming. With `all`, also those that are over. */
  listCapacityOrders(
    query?: PageRequest & { readonly pool?: string | undefined; readonly all?: boolean | undefined },
    options?: CallOptions,
  ): Promise<OrderPage>;
  /** Nodes with which waiting work would start: what to order, what it costs, and when it is expected. */
  adviseOrders(query?: AdviceParameters, options?: CallOptions): Promise<OrderAdvice>;
  getCapacityOrder(name: string, options?: CallOptions): Promise<CapacityOrder>;
  createCapacityOrder(body: OrderRequestInput, options?: DryRunOptions): Promise<OrderSet>;
  advanceCapacityOrder(name: string, body: AdvanceRequestInput, options?: DryRunOptions): Promise<OrderSet>;
  cancelCapacityOrder(name: string, body: { readonly reason?: string }, options?: DryRunOptions): Promise<OrderSet>;
  /** Proposed changes, newest last. With `all`, also those that are over. */
  listProposals(
    query?: PageRequest & { readonly all?: boolean | undefined },
    options?: CallOptions,
  ): Promise<ProposalPage>;
  getProposal(id: string, options?: CallOptions): Promise<Proposal>;
  createProposal(body: ProposalRequestInput, options?: CommandOptions): Promise<Proposal>;
  simulateProposal(id: string, options?: CommandOptions): Promise<Proposal>;
  decideProposal(id: string, body: ProposalDecisionInput, options?: CommandOptions): Promise<Proposal>;
  withdrawProposal(id: string, body: { readonly reason?: string }, options?: CommandOptions): Promise<Proposal>;
  proposalRules(options?: CallOptions): Promise<ProposalRuleList>;
  /** Fields that are absent stay as they are. */
  setProposalRule(kind: ProposalKind, body: ProposalRuleInput, options?: CommandOptions): Promise<ProposalRule>;
  /** Artifacts, in the order of their first version. */
  listArtifacts(query?: ArtifactListing, options?: CallOptions): Promise<ArtifactPage>;
  registerArtifact(body: ArtifactRequestInput, options?: CommandOptions): Promise<ArtifactRegistered>;
  /** `artifact` in these methods: `model:chat`, `model:TEAM/chat`, and a version of it with `@3` or `@production`. */
  getArtifact(artifact: string, options?: CallOptions): Promise<ArtifactResource>;
  /** Newest first. With `deleted`, also those that can be restored. */
  listArtifactVersions(
    artifact: string,
    query?: PageRequest & { readonly deleted?: boolean | undefined },
    options?: CallOptions,
  ): Promise<ArtifactVersionPage>;
  getArtifactVersion(artifact: string, options?: CallOptions): Promise<ArtifactVersion>;
  artifactLineage(
    artifact: string,
    query?: { readonly direction?: LineageDirection | undefined; readonly depth?: number | undefined },
    options?: CallOptions,
  ): Promise<ArtifactLineage>;
  changeArtifact(
    artifact: string,
    body: ArtifactChangeRequestInput,
    options?: CommandOptions,
  ): Promise<ArtifactChanged>;
  /** Pipelines in the order of their definition. */
  listPipelines(
    query?: PageRequest & { readonly team?: string | undefined },
    options?: CallOptions,
  ): Promise<PipelinePage>;
  getPipeline(name: string, options?: CallOptions): Promise<PipelineItem>;
  removePipeline(name: string, options?: CommandOptions): Promise<PipelineRemoved>;
  /** With `dryRun`, the answer has the plan of one run, and nothing is recorded. */
  startPipelineRun(name: string, body: PipelineRunRequest, options?: DryRunOptions): Promise<PipelineRunsStarted>;
  triggerPipeline(name: string, body: PipelineTriggerRequest, options?: CommandOptions): Promise<PipelineRunsStarted>;
  /** Newest first. */
  listPipelineRuns(query?: PipelineRunListing, options?: CallOptions): Promise<PipelineRunPage>;
  getPipelineRun(id: string, options?: CallOptions): Promise<PipelineRun>;
  listPipelineSteps(id: string, query?: PipelineStepListing, options?: CallOptions): Promise<PipelineStepPage>;
  cancelPipelineRun(id: string, options?: CommandOptions): Promise<PipelineRunCancelled>;
  retryPipelineRun(id: string, body: PipelineRetryRequest, options?: CommandOptions): Promise<PipelineRunRetried>;
  decidePipelineStep(id: string, body: PipelineDecision, options?: CommandOptions): Promise<PipelineStepDecided>;
  /** Executors with their state. */
  executors(options?: CallOptions): Promise<ExecutorList>;
  /** Declares an executor, or replaces its declaration. Its attempts continue. */
  declareExecutor(name: string, body: ExecutorRequestInput, options?: CommandOptions): Promise<ExecutorSet>;
  /** Gives up the attempts of an executor that is not reachable: their tasks run again, whether or not they still run. */
  abandonExecutor(
    name: string,
    body: { readonly reason?: string },
    options?: CommandOptions,
  ): Promise<ExecutorAbandoned>;
  removeExecutor(name: string, options?: CommandOptions): Promise<ExecutorRemoved>;
  metricSources(options?: CallOptions): Promise<MetricSourceList>;
  /** Targets of metric sources, silent ones first. */
  metricTargets(query?: MetricTargetQuery, options?: CallOptions): Promise<MetricTargetPage>;
  declareMetricSource(
    name: string,
    body: MetricSourceRequestInput,
    options?: CommandOptions,
  ): Promise<MetricSourceDeclared>;
  /** Removes the declaration. Its series stay until they expire. */
  removeMetricSource(name: string, options?: CommandOptions): Promise<MetricSourceRemoved>;
  stores(options?: CallOptions): Promise<StoreList>;
  /** Caches of inputs on nodes. */
  storeCaches(options?: CallOptions): Promise<StoreCacheList>;
  declareStore(name: string, body: StoreRequestInput, options?: CommandOptions): Promise<StoreDeclared>;
  /** Removes the declaration. The bytes stay in the store. */
  removeStore(name: string, options?: CommandOptions): Promise<StoreRemoved>;
  /** `force`: stops and requeues the work on the nodes first. Without it, a removal is refused while work runs there. */
  removeNode(id: string, options?: RemovalOptions): Promise<NodeRemoved>;
  removePool(name: string, options?: RemovalOptions): Promise<PoolRemoved>;
  removeSite(name: string, options?: RemovalOptions): Promise<SiteRemoved>;
  /**
   * Announces that the provider of the node takes it away at a stated time. Running work is stopped or migrates before
   * that time.
   */
  noticeNode(id: string, request: NoticeRequestInput, options?: CommandOptions): Promise<NoticeAccepted>;
  /** Withdraws the notice: the node stays. */
  withdrawNotice(id: string, options?: CommandOptions): Promise<NodeAccepted>;
  teams(page?: PageRequest, options?: CallOptions): Promise<Page<Team>>;
  removeTeam(name: string, options?: CommandOptions): Promise<TeamRemoved>;
  schedules(options?: CallOptions): Promise<ScheduleList>;
  removeSchedule(name: string, options?: CommandOptions): Promise<ScheduleRemoved>;
  /** Calendar entries, with the next one first. */
  calendar(options?: CallOptions): Promise<CalendarList>;
  removeCalendarEntry(name: string, options?: CommandOptions): Promise<CalendarRemoved>;
  policy(options?: CallOptions): Promise<Policy>;
  setPolicy(choice: PolicyChoice, options?: CommandOptions): Promise<PolicySet>;
  presets(options?: CallOptions): Promise<{ readonly items: readonly Policy[] }>;
  /** Asks the performance model. The call neither reads nor changes the fleet. */
  size(question: SizingQuestionInput, options?: CallOptions): Promise<SizingAnswer>;
  /** Costs by period and group, of the teams that the reader may see. */
  costs(query?: CostsParameters, options?: CallOptions): Promise<Costs>;
  /** Allocated accelerator time by cause, of the teams that the reader may see. */
  causeHours(query?: CauseHoursParameters, options?: CallOptions): Promise<CauseHours>;
  /** Offers of the price feeds by the price of a useful hour. */
  offers(query?: OffersParameters, options?: CallOptions): Promise<Offers>;
  /** Simulates the loss of failure domains from the live state on. */
  forecastDrill(request: DrillRequestInput, options?: CallOptions): Promise<DrillForecast>;
  /** Takes nodes that are allowed for drills from work, for some time. */
  startDrill(request: DrillRequestInput, options?: CommandOptions): Promise<Drill>;
  listDrills(options?: CallOptions): Promise<DrillList>;
  getDrill(id: string, options?: CallOptions): Promise<Drill>;
  /** Ends a drill now. */
  cancelDrill(id: string, options?: CommandOptions): Promise<Drill>;
  listRemediations(options?: CallOptions): Promise<RemediationList>;
  /** Reads the facts of all nodes of a remediation now. */
  checkRemediation(name: string, options?: CommandOptions): Promise<DriftCheck>;
  listRemediationRuns(options?: CallOptions): Promise<RemediationRunList>;
  getRemediationRun(id: string, options?: CallOptions): Promise<RemediationRun>;
  /** Changes no further node. */
  cancelRemediationRun(id: string, options?: CommandOptions): Promise<RemediationRun>;
  /** The stored capacity plan, or nulls. */
  plan(options?: CallOptions): Promise<StoredPlan>;
  /** Solves a plan, which takes seconds, and stores it. With `dryRun` nothing is stored. */
  storePlan(
    documents: PlanDocumentsInput,
    options?: CommandOptions & { readonly dryRun?: boolean },
  ): Promise<PlanStored>;
  /**
   * Recorded events from a sequence on (default 1), then live ones, until aborted. `from: "next"`: only live events.
   */
  events(query?: { readonly from?: number | "next"; readonly signal?: Abort }): AsyncIterable<EventEnvelope>;
  logs(id: string, query?: LogQuery): AsyncIterable<LogChunk>;
  /** Matching lines of the output of attempts. A page without matches can have a cursor. */
  searchLogs(query: LogSearchQuery, options?: CallOptions): Promise<LogMatchPage>;
  /** Runs a command inside a worker. The session ends if nobody reads `execOutput`. */
  startExec(id: string, request: ExecRequestInput, options?: CommandOptions): Promise<ExecStarted>;
  execOutput(id: string, query?: { readonly signal?: Abort | undefined }): AsyncIterable<ExecOutput>;
  execInput(id: string, input: ExecInput, options?: CommandOptions): Promise<ExecAccepted>;
  endExec(id: string, options?: CommandOptions): Promise<ExecAccepted>;
  usage(id: string, options?: CallOptions): Promise<WorkloadUsage>;
  /**
   * Metrics that the workload's attempts reported. Attempts with the earliest reports come first. A page has 20
   * attempts unless `limit` is given.
   */
  metrics(id: string, query?: MetricsQuery, options?: CallOptions): Promise<Page<AttemptMetrics>>;
  /** Declares the model that a workload trains, so that its attempts are compared with predictions. */
  declareModel(id: string, model: WorkloadModelInput, options?: CommandOptions): Promise<WorkloadAccepted>;
  /** Predicted and measured steps of the workload's attempts. */
  predictions(id: string, options?: CallOptions): Promise<WorkloadPredictions>;
  /** Predictions and measured runs of the fleet, and the correction that follows from their comparison. */
  fleetPredictions(options?: CallOptions): Promise<FleetPredictions>;
  status(options?: CallOptions): Promise<Status>;
  listTokens(query?: PageRequest & { readonly all?: boolean | undefined }, options?: CallOptions): Promise<TokenPage>;
  /** Creates a token of a person or program. The answer shows it once. */
  createToken(body: TokenRequestInput, options?: CommandOptions): Promise<TokenCreated>;
  revokeToken(id: string, options?: CommandOptions): Promise<TokenRevoked>;
  /** Digests of the tokens that gateways accept. `known`: the version that the caller has. */
  followTokens(query?: { readonly known?: string | undefined }, options?: CallOptions): Promise<FollowedTokens>;
  /** Requests that were denied since the start, the newest first. */
  listDenials(options?: CallOptions): Promise<DenialList>;
  /** The user, role and teams of the caller. */
  identity(options?: CallOptions): Promise<Identity>;
  /** Creates a link that signs in one browser once. Refused with `notSupported` if there is no server. */
  createLoginLink(options?: CommandOptions): Promise<LoginLink>;
}
