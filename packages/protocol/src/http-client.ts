/** `HeadroomClient` over HTTP: one call for each row of the operations table. */
import type { Abort, HeadroomClient } from "./client.ts";
import { Http, type Call, type HttpClientOptions } from "./http.ts";
import { operations, type Operation } from "./operations.ts";
import { checkedUser } from "./user.ts";

function modelCalls(http: Http): Pick<HeadroomClient, "declareModel" | "predictions" | "fleetPredictions"> {
  const o = operations;
  return {
    declareModel: (id, body, options) => http.call(o.declareModel, { params: { id }, body, options }),
    predictions: (id, options) => http.call(o.predictions, { params: { id }, options }),
    fleetPredictions: (options) => http.call(o.fleetPredictions, { options }),
  };
}

type RemediationCalls =
  | "listRemediations"
  | "checkRemediation"
  | "listRemediationRuns"
  | "getRemediationRun"
  | "cancelRemediationRun";

type DrillCalls = "forecastDrill" | "startDrill" | "listDrills" | "getDrill" | "cancelDrill";

function drillCalls(http: Http): Pick<HeadroomClient, DrillCalls> {
  const o = operations;
  return {
    forecastDrill: (body, options) => http.call(o.forecastDrill, { body, options }),
    startDrill: (body, options) => http.call(o.startDrill, { body, options }),
    listDrills: (options) => http.call(o.listDrills, { options }),
    getDrill: (id, options) => http.call(o.getDrill, { params: { id }, options }),
    cancelDrill: (id, options) => http.call(o.cancelDrill, { params: { id }, options }),
  };
}

function remediationCalls(http: Http): Pick<HeadroomClient, RemediationCalls> {
  const o = operations;
  return {
    listRemediations: (options) => http.call(o.listRemediations, { options }),
    checkRemediation: (name, options) => http.call(o.checkRemediation, { params: { name }, options }),
    listRemediationRuns: (options) => http.call(o.listRemediationRuns, { options }),
    getRemediationRun: (id, options) => http.call(o.getRemediationRun, { params: { id }, options }),
    cancelRemediationRun: (id, options) => http.call(o.cancelRemediationRun, { params: { id }, options }),
  };
}

type PlanningCalls = RemediationCalls | DrillCalls | "size" | "costs" | "causeHours" | "offers" | "plan" | "storePlan";

function planningCalls(http: Http): Pick<HeadroomClient, PlanningCalls> {
  const o = operations;
  return {
    ...drillCalls(http),
    ...remediationCalls(http),
    size: (body, options) => http.call(o.size, { body, options }),
    costs: (query, options) => http.call(o.costs, { query: { ...query }, options }),
    causeHours: (query, options) => http.call(o.causeHours, { query: { ...query }, options }),
    offers: (query, options) => http.call(o.offers, { query: { ...query }, options }),
    plan: (options) => http.call(o.plan, { options }),
    storePlan: (body, { dryRun, ...options } = {}) => http.call(o.storePlan, { query: { dryRun }, body, options }),
  };
}

type TokenCalls =
  | "createLoginLink"
  | "listTokens"
  | "createToken"
  | "revokeToken"
  | "followTokens"
  | "listDenials"
  | "identity";

function tokenCalls(http: Http): Pick<HeadroomClient, TokenCalls> {
  const o = operations;
  return {
    createLoginLink: (options) => http.call(o.createLoginLink, { options }),
    listTokens: (query, options) => http.call(o.listTokens, { query: { ...query }, options }),
    createToken: (body, options) => http.call(o.createToken, { body, options }),
    revokeToken: (id, options) => http.call(o.revokeToken, { params: { id }, options }),
    followTokens: (query, options) => http.call(o.followTokens, { query: { ...query }, options }),
    listDenials: (options) => http.call(o.listDenials, { options }),
    identity: (options) => http.call(o.identity, { options }),
  };
}

function execCalls(http: Http): Pick<HeadroomClient, "startExec" | "execOutput" | "execInput" | "endExec"> {
  const o = operations;
  return {
    startExec: (id, body, options) => http.call(o.startExec, { params: { id }, body, options }),
    execOutput: (id, { signal } = {}) => http.stream(o.execOutput, { params: { id }, options: { signal } }),
    execInput: (id, body, options) => http.call(o.execInput, { params: { id }, body, options }),
    endExec: (id, options) => http.call(o.endExec, { params: { id }, options }),
  };
}

function fleetCalls(
  http: Http,
): Pick<
  HeadroomClient,
  | OrderCalls
  | IncidentCalls
  | ProposalCalls
  | PipelineCalls
  | ArtifactCalls
  | ExecutorCalls
  | "removeNode"
  | "removePool"
  | "removeSite"
  | "series"
  | "searchLogs"
> {
  const o = operations;
  return {
    ...orderCalls(http),
    ...incidentCalls(http),
    ...proposalCalls(http),
    ...pipelineCalls(http),
    ...artifactCalls(http),
    ...executorCalls(http),
    searchLogs: (query, options) => http.call(o.searchLogs, { query: { ...query }, options }),
    series: (query, options) => http.call(o.series, { query: { ...query }, options }),
    removeNode: (id, { force, ...options } = {}) =>
      http.call(o.removeNode, { params: { id }, query: { force }, options }),
    removePool: (name, { force, ...options } = {}) =>
      http.call(o.removePool, { params: { name }, query: { force }, options }),
    removeSite: (name, { force, ...options } = {}) =>
      http.call(o.removeSite, { params: { name }, query: { force }, options }),
  };
}

type ExecutorCalls =
  | "executors"
  | "declareExecutor"
  | "abandonExecutor"
  | "removeExecutor"
  | "metricSources"
  | "metricTargets"
  | "declareMetricSource"
  | "removeMetricSource"
  | "stores"
  | "storeCaches"
  | "declareStore"
  | "removeStore";

function executorCalls(http: Http): Pick<HeadroomClient, ExecutorCalls> {
  const o = operations;
  return {
    executors: (options) => http.call(o.executors, { options }),
    declareExecutor: (name, body, options) => http.call(o.declareExecutor, { params: { name }, body, options }),
    abandonExecutor: (name, body, options) => http.call(o.abandonExecutor, { params: { name }, body, options }),
    removeExecutor: (name, options) => http.call(o.removeExecutor, { params: { name }, options }),
    metricSources: (options) => http.call(o.metricSources, { options }),
    metricTargets: (query, options) => http.call(o.metricTargets, { query: { ...query }, options }),
    declareMetricSource: (name, body, options) => http.call(o.declareMetricSource, { params: { name }, body, options }),
    removeMetricSource: (name, options) => http.call(o.removeMetricSource, { params: { name }, options }),
    stores: (options) => http.call(o.stores, { options }),
    storeCaches: (options) => http.call(o.storeCaches, { options }),
    declareStore: (name, body, options) => http.call(o.declareStore, { params: { name }, body, options }),
    removeStore: (name, options) => http.call(o.removeStore, { params: { name }, options }),
  };
}

type ProposalCalls =
  | "listProposals"
  | "getProposal"
  | "createProposal"
  | "simulateProposal"
  | "decideProposal"
  | "withdrawProposal"
  | "proposalRules"
  | "setProposalRule";

function proposalCalls(http: Http): Pick<HeadroomClient, ProposalCalls> {
  const o = operations;
  return {
    listProposals: (query, options) => http.call(o.listProposals, { query: { ...query }, options }),
    getProposal: (id, options) => http.call(o.getProposal, { params: { id }, options }),
    createProposal: (body, options) => http.call(o.createProposal, { body, options }),
    simulateProposal: (id, options) => http.call(o.simulateProposal, { params: { id }, options }),
    decideProposal: (id, body, options) => http.call(o.decideProposal, { params: { id }, body, options }),
    withdrawProposal: (id, body, options) => http.call(o.withdrawProposal, { params: { id }, body, options }),
    proposalRules: (options) => http.call(o.proposalRules, { options }),
    setProposalRule: (kind, body, options) => http.call(o.setProposalRule, { params: { kind }, body, options }),
  };
}

type PipelineCalls =
  | "listPipelines"
  | "getPipeline"
  | "removePipeline"
  | "startPipelineRun"
  | "triggerPipeline"
  | "listPipelineRuns"
  | "getPipelineRun"
  | "listPipelineSteps"
  | "cancelPipelineRun"
  | "retryPipelineRun"
  | "decidePipelineStep";

function pipelineCalls(http: Http): Pick<HeadroomClient, PipelineCalls> {
  const o = operations;
  return {
    listPipelines: (query, options) => http.call(o.listPipelines, { query: { ...query }, options }),
    getPipeline: (name, options) => http.call(o.getPipeline, { params: { name }, options }),
    removePipeline: (name, options) => http.call(o.removePipeline, { params: { name }, options }),
    startPipelineRun: (name, body, { dryRun, ...options } = {}) =>
      http.call(o.startPipelineRun, { params: { name }, query: { dryRun }, body, options }),
    triggerPipeline: (name, body, options) => http.call(o.triggerPipeline, { params: { name }, body, options }),
    listPipelineRuns: (query, options) => http.call(o.listPipelineRuns, { query: { ...query }, options }),
    getPipelineRun: (id, options) => http.call(o.getPipelineRun, { params: { id }, options }),
    listPipelineSteps: (id, query, options) =>
      http.call(o.listPipelineSteps, { params: { id }, query: { ...query }, options }),
    cancelPipelineRun: (id, options) => http.call(o.cancelPipelineRun, { params: { id }, options }),
    retryPipelineRun: (id, body, options) => http.call(o.retryPipelineRun, { params: { id }, body, options }),
    decidePipelineStep: (id, body, options) => http.call(o.decidePipelineStep, { params: { id }, body, options }),
  };
}

type ArtifactCalls =
  | "listArtifacts"
  | "registerArtifact"
  | "getArtifact"
  | "listArtifactVersions"
  | "getArtifactVersion"
  | "artifactLineage"
  | "changeArtifact";

function artifactCalls(http: Http): Pick<HeadroomClient, ArtifactCalls> {
  const o = operations;
  return {
    listArtifacts: (query, options) => http.call(o.listArtifacts, { query: { ...query }, options }),
    registerArtifact: (body, options) => http.call(o.registerArtifact, { body, options }),
    getArtifact: (artifact, options) => http.call(o.getArtifact, { params: { artifact }, options }),
    listArtifactVersions: (artifact, query, options) =>
      http.call(o.listArtifactVersions, { params: { artifact }, query: { ...query }, options }),
    getArtifactVersion: (artifact, options) => http.call(o.getArtifactVersion, { params: { artifact }, options }),
    artifactLineage: (artifact, query, options) =>
      http.call(o.artifactLineage, { params: { artifact }, query: { ...query }, options }),
    changeArtifact: (artifact, body, options) => http.call(o.changeArtifact, { params: { artifact }, body, options }),
  };
}

type IncidentCalls =
  | "listIncidents"
  | "getIncident"
  | "annotateIncident"
  | "fleetHealth"
  | "listFindings"
  | "reportFaults"
  | "qualifyNode"
  | "nodeQualification";

function incidentCalls(http: Http): Pick<HeadroomClient, IncidentCalls> {
  const o = operations;
  return {
    listIncidents: (query, options) => http.call(o.listIncidents, { query: { ...query }, options }),
    getIncident: (id, options) => http.call(o.getIncident, { params: { id }, options }),
    annotateIncident: (id, body, options) => http.call(o.annotateIncident, { params: { id }, body, options }),
    fleetHealth: (options) => http.call(o.fleetHealth, { options }),
    listFindings: (options) => http.call(o.listFindings, { options }),
    reportFaults: (id, body, options) => http.call(o.reportFaults, { params: { id }, body, options }),
    qualifyNode: (id, options) => http.call(o.qualifyNode, { params: { id }, options }),
    nodeQualification: (id, options) => http.call(o.nodeQualification, { params: { id }, options }),
  };
}

type OrderCalls =
  | "endpoints"
  | "steerRollout"
  | "tryEndpoint"
  | "reportLoad"
  | "listCapacityOrders"
  | "adviseOrders"
  | "getCapacityOrder"
  | "createCapacityOrder"
  | "advanceCapacityOrder"
  | "cancelCapacityOrder";

function orderCalls(http: Http): Pick<HeadroomClient, OrderCalls> {
  const o = operations;
  return {
    endpoints: (options) => http.call(o.endpoints, { options }),
    steerRollout: (id, body, options) => http.call(o.steerRollout, { params: { id }, body, options }),
    tryEndpoint: (id, body, options) => http.call(o.tryEndpoint, { params: { id }, body, options }),
    reportLoad: (id, body, options) => http.call(o.reportLoad, { params: { id }, body, options }),
    listCapacityOrders: (query, options) => http.call(o.listCapacityOrders, { query: { ...query }, options }),
    adviseOrders: (query, options) => http.call(o.adviseOrders, { query: { ...query }, options }),
    getCapacityOrder: (name, options) => http.call(o.getCapacityOrder, { params: { name }, options }),
    createCapacityOrder: (body, { dryRun, ...options } = {}) =>
      http.call(o.createCapacityOrder, { query: { dryRun }, body, options }),
    advanceCapacityOrder: (name, body, { dryRun, ...options } = {}) =>
      http.call(o.advanceCapacityOrder, { params: { name }, query: { dryRun }, body, options }),
    cancelCapacityOrder: (name, body, { dryRun, ...options } = {}) =>
      http.call(o.cancelCapacityOrder, { params: { name }, query: { dryRun }, body, options }),
  };
}

/** Calls any row of the operations table, for clients that are derived from the table. Streams and bytes are not possible. */
export type OperationCaller = (
  operation: Operation,
  call: Pick<Call, "params" | "query" | "body"> & { readonly signal?: Abort },
) => Promise<unknown>;

export function createOperationCaller(options: HttpClientOptions): OperationCaller {
  if (options.user !== undefined) checkedUser(options.user);
  const http = new Http(options);
  return (operation, { signal, ...call }) => http.call(operation, { ...call, options: { signal } });
}

/**
 * Client of the control plane at `baseUrl`. Throws if `user` is not a valid user name, because the header could then
 * name another user.
 */
export function createHttpClient(options: HttpClientOptions): HeadroomClient {
  if (options.user !== undefined) checkedUser(options.user);
  const http = new Http(options);
  const o = operations;
  return {
    listWorkloads: (query, options) => http.call(o.listWorkloads, { query: { ...query }, options }),
    getWorkload: (id, options) => http.call(o.getWorkload, { params: { id }, options }),
    submitWorkload: (body, options) => http.call(o.submitWorkload, { body, options }),
    changeWorkload: (id, body, { dryRun, ...options } = {}) =>
      http.call(o.changeWorkload, {
        params: { id },
        query: dryRun === true ? { dryRun: true } : {},
        body,
        options,
      }),
    stopWorkload: (id, { task, ...options } = {}) =>
      http.call(o.stopWorkload, { params: { id }, query: { task }, options }),
    holdWorkload: (id, options) => http.call(o.holdWorkload, { params: { id }, options }),
    rerunWorkload: (id, options) => http.call(o.rerunWorkload, { params: { id }, options }),
    releaseWorkload: (id, options) => http.call(o.releaseWorkload, { params: { id }, options }),
    explainWorkload: (id, options) => http.call(o.explainWorkload, { params: { id }, options }),
    startingChanges: (id, options) => http.call(o.startingChanges, { params: { id }, options }),
    estimateStart: (id, options) => http.call(o.estimateStart, { params: { id }, options }),
    expectedStarts: (query, options) => http.call(o.expectedStarts, { query: { ...query }, options }),
    forecastWorkload: (body, options) => http.call(o.forecastWorkload, { body, options }),
    whatIf: (body, options) => http.call(o.whatIf, { body, options }),
    snapshot: (query, options) => http.snapshot({ query: { ...query }, options }),
    startReplay: (body, options) => http.call(o.startReplay, { body, options }),
    replay: (id, options) => http.call(o.replay, { params: { id }, options }),
    cancelReplay: (id, options) => http.call(o.cancelReplay, { params: { id }, options }),
    workloadHistory: (id, query, options) =>
      http.call(o.workloadHistory, { params: { id }, query: { ...query }, options }),
    queue: (query, options) => http.call(o.queue, { query: { ...query }, options }),
    apply: (body, options) =>
      http.call(o.apply, { body, query: { dryRun: options?.dryRun, forecast: options?.forecast }, options }),
    gateway: (options) => http.call(o.gateway, { options }),
    waste: (query, options) => http.call(o.waste, { query: { ...query }, options }),
    defragmentation: (options) => http.call(o.defragmentation, { options }),
    capacityHistory: (options) => http.call(o.capacityHistory, { options }),
    fleet: (options) => http.call(o.fleet, { options }),
    listNodes: (page, options) => http.call(o.listNodes, { query: { ...page }, options }),
    getNode: (id, options) => http.call(o.getNode, { params: { id }, options }),
    acceleratorReadings: (page, options) => http.call(o.acceleratorReadings, { query: { ...page }, options }),
    nodeTelemetry: (id, query, options) => http.call(o.nodeTelemetry, { params: { id }, query: { ...query }, options }),
    drainNode: (id, options) =>
      http.call(o.drainNode, { params: { id }, body: { running: options?.running ?? "wait" }, options }),
    resumeNode: (id, options) => http.call(o.resumeNode, { params: { id }, options }),
    ...fleetCalls(http),
    noticeNode: (id, body, options) => http.call(o.noticeNode, { params: { id }, body, options }),
    withdrawNotice: (id, options) => http.call(o.withdrawNotice, { params: { id }, options }),
    teams: (page, options) => http.call(o.teams, { query: { ...page }, options }),
    removeTeam: (name, options) => http.call(o.removeTeam, { params: { name }, options }),
    schedules: (options) => http.call(o.schedules, { options }),
    removeSchedule: (name, options) => http.call(o.removeSchedule, { params: { name }, options }),
    calendar: (options) => http.call(o.calendar, { options }),
    removeCalendarEntry: (name, options) => http.call(o.removeCalendarEntry, { params: { name }, options }),
    policy: (options) => http.call(o.policy, { options }),
    setPolicy: (body, options) => http.call(o.setPolicy, { body, options }),
    presets: (options) => http.call(o.presets, { options }),
    ...planningCalls(http),
    events: ({ from, signal } = {}) => http.stream(o.events, { query: { from }, options: { signal } }),
    logs: (id, { signal, ...query } = {}) => http.stream(o.logs, { params: { id }, query, options: { signal } }),
    ...execCalls(http),
    ...modelCalls(http),
    usage: (id, options) => http.call(o.usage, { params: { id }, options }),
    metrics: (id, query, options) => http.call(o.metrics, { params: { id }, query: { ...query }, options }),
    status: (options) => http.call(o.status, { options }),
    ...tokenCalls(http),
  };
}
