/**
 * Every route of the HTTP API, with one row for each. The server binds handlers to these rows, the HTTP client calls
 * them, and the OpenAPI document lists them. The keys are the method names of `HeadroomClient`.
 */
import { z } from "zod";
import { names, policy } from "@headroom/spec";
import { nodeReadingsPage, nodeReadingsQuery, nodeTelemetry, nodeTelemetryQuery } from "./accelerator-readings.ts";
import { applyPlan, applyRequest } from "./apply.ts";
import { defragmentation } from "./defragmentation.ts";
import { eventEnvelope } from "./event.ts";
import { capacityHistory } from "./capacity-history.ts";
import { calendarList, calendarRemoved } from "./calendar.ts";
import { executorOperations } from "./executor-operations.ts";
import { metricSourceOperations } from "./metric-source.ts";
import { storeOperations } from "./store.ts";
import { drainRequest, fleet, node, nodeAccepted, nodePage, noticeAccepted, noticeRequest } from "./fleet.ts";
import { nodeRemoved, poolRemoved, removalQuery, siteRemoved } from "./fleet.ts";
import { whatIfAnswer, whatIfQuestion } from "./forecast.ts";
import { byId, byTeam, eventQuery, queueQuery } from "./operation-queries.ts";
import { operation } from "./operation.ts";
import { admission, commandProblems, planning } from "./operation-problems.ts";
import { pageQuery, queryBoolean } from "./page.ts";
import { planningOperations } from "./planning-operations.ts";
import { endpointOperations } from "./endpoint.ts";
import { artifactOperations } from "./artifact-operations.ts";
import { drillOperations } from "./drill-operations.ts";
import { remediationOperations } from "./remediation-operations.ts";
import { incidentOperations } from "./incident-operations.ts";
import { logSearchOperations } from "./log-search.ts";
import { qualificationOperations } from "./qualification-operations.ts";
import { orderOperations } from "./order-operations.ts";
import { seriesQuery, subjectSeries } from "./series.ts";
import { pipelineOperations } from "./pipeline-operations.ts";
import { proposalOperations } from "./proposal-operations.ts";
import { policyChoice, policySet, presetList } from "./policy.ts";
import type { Permission } from "./permissions.ts";
import { replay, replayAccepted, replayQuestion } from "./replay.ts";
import { scheduleList, scheduleRemoved } from "./schedule.ts";
import { snapshot, snapshotQuery } from "./snapshot.ts";
import { loginLink, status } from "./status.ts";
import { teamPage, teamRemoved } from "./team.ts";
import { queuePage } from "./verdict.ts";
import { gatewayOverview } from "./gateway.ts";
import { wasteList } from "./waste.ts";
import { tokenOperations } from "./token-operations.ts";
import { workloadOperations } from "./workload-operations.ts";
export type { HttpMethod, Operation } from "./operation.ts";

export const operations = {
  ...workloadOperations,
  queue: operation("GET /v1/queue", "Pending workloads in queue order, with reasons", queuePage, {
    permission: "workloads.read",
    subject: "teams",
    query: queueQuery.extend({
      holdReason: queryBoolean
        .optional()
        .meta({ description: "Also count pending workloads that are not in the queue." }),
    }),
    problems: ["invalidCursor"],
  }),
  apply: operation("POST /v1/apply", "Declare sites, pools, teams and workloads: all or none", applyPlan, {
    permission: "documents.apply",
    subject: "documents",
    query: z.strictObject({
      dryRun: queryBoolean.optional(),
      forecast: queryBoolean
        .optional()
        .meta({ description: "With `dryRun`: predict the starts of the first workloads that would be created." }),
    }),
    body: applyRequest,
    partPermissions: {
      sites: "fleet.write",
      pools: "fleet.write",
      teams: "teams.write",
      workloads: "workloads.write",
      schedules: "workloads.write",
      pipelines: "workloads.write",
      calendar: "calendar.write",
    } satisfies Record<keyof z.output<typeof applyRequest>, Permission>,
    problems: [
      "unknownSuite",
      ...admission,
      "teamCycle",
      "unknownSite",
      "poolInUse",
      "tooManyTypes",
      "pipelineInvalid",
      "tooManyPipelines",
      "overloaded",
      "tookTooLong",
      ...planning,
      ...commandProblems,
    ],
  }),
  whatIf: operation(
    "POST /v1/what-if",
    "Forecast of the next hours with and without a change (lost failure domains, other nodes, pools, sites, orders, teams or policy); nothing is recorded",
    whatIfAnswer,
    {
      permission: "simulations.run",
      body: whatIfQuestion,
      problems: [
        "unknownNode",
        "unknownCapacityOrder",
        "unknownProposal",
        "unknownDomain",
        "unknownSite",
        "duplicateName",
        "unknownPreset",
        "unknownTeam",
        "teamCycle",
        "tooManyTypes",
        "overloaded",
        "tookTooLong",
      ],
    },
  ),
  snapshot: operation("GET /v1/snapshot", "The current state as bytes, for simulations elsewhere", snapshot, {
    permission: "events.read",
    query: snapshotQuery,
    bytes: true,
    problems: ["snapshotTooLarge", "overloaded"],
  }),
  startReplay: operation(
    "POST /v1/replays",
    "Replay the record under another policy or with other teams",
    replayAccepted,
    {
      permission: "simulations.run",
      body: replayQuestion,
      status: 202,
      problems: ["unknownPreset", "unknownTeam", "teamCycle", "tooManyTypes", "tooManyReplays"],
    },
  ),
  replay: operation("GET /v1/replays/{id}", "Progress or result of a replay", replay, {
    permission: "simulations.run",
    params: byId,
    problems: ["unknownReplay"],
  }),
  cancelReplay: operation("DELETE /v1/replays/{id}", "Stop a replay and delete it", replayAccepted, {
    permission: "simulations.run",
    params: byId,
    problems: ["unknownReplay"],
  }),
  waste: operation("GET /v1/waste", "Idle resources, as far as reported", wasteList, {
    permission: "workloads.read",
    subject: "teams",
    query: z.strictObject({ workload: names.opaqueId.optional() }),
  }),
  gateway: operation("GET /v1/gateway", "The inference gateway: teams, keys, replicas, errors", gatewayOverview, {
    permission: "gateway.read",
    problems: ["noGateway", "gatewayUnavailable"],
  }),
  defragmentation: operation(
    "GET /v1/defragmentation",
    "Migrations that would gather idle accelerators now",
    defragmentation,
    { permission: "fleet.read", problems: ["overloaded", "tookTooLong"] },
  ),
  fleet: operation("GET /v1/fleet", "Totals of sites, pools and accelerator types", fleet, {
    permission: "fleet.read",
    subject: "any",
  }),
  capacityHistory: operation(
    "GET /v1/fleet/history",
    "Used, queued and unavailable capacity of the last 24 hours",
    capacityHistory,
    {
      permission: "fleet.read",
      subject: "teams",
    },
  ),
  series: operation(
    "GET /v1/series",
    "Amounts of the fleet, a pool, a team, a node or an endpoint over up to 30 days",
    subjectSeries,
    {
      permission: "fleet.read",
      subject: "teams",
      query: seriesQuery,
      problems: ["unknownTeamName", "unknownPoolName", "unknownNode", "unknownWorkload", "overloaded"],
    },
  ),
  listNodes: operation("GET /v1/nodes", "Nodes, with the attempts on their accelerators", nodePage, {
    permission: "fleet.read",
    subject: "teams",
    query: pageQuery,
    problems: ["invalidCursor"],
  }),
  getNode: operation("GET /v1/nodes/{id}", "One node", node, {
    permission: "fleet.read",
    subject: "teams",
    params: byId,
    problems: ["unknownNode"],
  }),
  acceleratorReadings: operation(
    "GET /v1/accelerators",
    "Newest utilization, memory, temperature, power and errors of every accelerator, by node",
    nodeReadingsPage,
    { permission: "fleet.read", subject: "any", query: nodeReadingsQuery, problems: ["invalidCursor"] },
  ),
  nodeTelemetry: operation(
    "GET /v1/nodes/{id}/accelerators",
    "Readings of the accelerators of one node, with their history",
    nodeTelemetry,
    {
      permission: "fleet.read",
      subject: "any",
      params: byId,
      query: nodeTelemetryQuery,
      problems: ["unknownNode", "overloaded"],
    },
  ),
  drainNode: operation("POST /v1/nodes/{id}/drain", "Drain a node: no new work is placed on it", nodeAccepted, {
    permission: "fleet.write",
    params: byId,
    body: drainRequest,
    status: 202,
    problems: ["unknownNode", ...commandProblems],
  }),
  resumeNode: operation("POST /v1/nodes/{id}/resume", "Allow new work on a drained node", nodeAccepted, {
    permission: "fleet.write",
    params: byId,
    status: 202,
    problems: ["unknownNode", "removedWithPool", ...commandProblems],
  }),
  ...qualificationOperations,
  ...orderOperations,
  ...incidentOperations,
  ...drillOperations,
  ...remediationOperations,
  ...artifactOperations,
  ...endpointOperations,
  ...executorOperations,
  ...storeOperations,
  ...metricSourceOperations,
  removeNode: operation("DELETE /v1/nodes/{id}", "Remove a node from the fleet", nodeRemoved, {
    permission: "fleet.write",
    params: byId,
    query: removalQuery,
    status: 202,
    problems: ["unknownNode", "fleetInUse", ...commandProblems],
  }),
  removePool: operation("DELETE /v1/pools/{name}", "Remove a pool with its nodes", poolRemoved, {
    permission: "fleet.write",
    params: z.strictObject({ name: names.poolName }),
    query: removalQuery,
    status: 202,
    problems: ["unknownPoolName", "fleetInUse", ...commandProblems],
  }),
  removeSite: operation("DELETE /v1/sites/{name}", "Remove a site with its pools and their nodes", siteRemoved, {
    permission: "fleet.write",
    params: z.strictObject({ name: names.siteName }),
    query: removalQuery,
    status: 202,
    problems: ["unknownSiteName", "fleetInUse", ...commandProblems],
  }),
  noticeNode: operation("POST /v1/nodes/{id}/notice", "Announce that a node goes away", noticeAccepted, {
    permission: "fleet.write",
    params: byId,
    body: noticeRequest,
    status: 202,
    problems: ["unknownNode", "nodeLost", "noticeOver", ...commandProblems],
  }),
  withdrawNotice: operation(
    "DELETE /v1/nodes/{id}/notice",
    "Withdraw the announcement that a node goes away",
    nodeAccepted,
    {
      permission: "fleet.write",
      params: byId,
      problems: ["unknownNode", ...commandProblems],
    },
  ),
  teams: operation("GET /v1/teams", "Teams with their limits and usage", teamPage, {
    permission: "teams.read",
    subject: "teams",
    query: pageQuery,
    problems: ["invalidCursor"],
  }),
  removeTeam: operation("DELETE /v1/teams/{name}", "Remove a team without workloads and subteams", teamRemoved, {
    permission: "teams.write",
    subject: "team",
    params: byTeam,
    problems: ["unknownTeamName", "teamInUse", ...commandProblems],
  }),
  calendar: operation("GET /v1/calendar", "Calendar entries, with the next one first", calendarList, {
    permission: "calendar.read",
    subject: "teams",
  }),
  removeCalendarEntry: operation("DELETE /v1/calendar/{name}", "Remove a calendar entry", calendarRemoved, {
    permission: "calendar.write",
    params: z.strictObject({ name: names.calendarName }),
    problems: ["unknownCalendarEntry", ...commandProblems],
  }),
  schedules: operation("GET /v1/schedules", "Schedules, with the next due one first", scheduleList, {
    permission: "workloads.read",
    subject: "teams",
  }),
  removeSchedule: operation("DELETE /v1/schedules/{name}", "Remove a schedule; its runs continue", scheduleRemoved, {
    permission: "workloads.write",
    subject: "schedule",
    params: z.strictObject({ name: names.calendarName }),
    problems: ["unknownSchedule", ...commandProblems],
  }),
  policy: operation("GET /v1/policy", "The active policy", policy, { permission: "policy.read", subject: "any" }),
  setPolicy: operation("PUT /v1/policy", "Activate a preset or a policy of your own", policySet, {
    permission: "policy.write",
    body: policyChoice,
    problems: ["unknownPreset", ...commandProblems],
  }),
  presets: operation("GET /v1/policy/presets", "The policies that ship with Headroom", presetList, {
    permission: "policy.read",
    subject: "any",
  }),
  ...logSearchOperations,
  ...planningOperations,
  ...proposalOperations,
  ...pipelineOperations,
  ...tokenOperations,
  events: operation("GET /v1/events", "Recorded events from a sequence number on, as a stream", eventEnvelope, {
    permission: "events.read",
    subject: "teams",
    query: eventQuery,
    stream: true,
    problems: ["tooManyStreams"],
  }),
  status: operation("GET /v1/status", "Health and figures of the control plane", status, {
    permission: "status.read",
    subject: "any",
  }),
  createLoginLink: operation("POST /v1/login-links", "Create a one-time link to sign in a browser", loginLink, {
    permission: "sessions.write",
    subject: "any",
    status: 201,
  }),
};

export type OperationName = keyof typeof operations;
export const operationNames = Object.keys(operations) as readonly OperationName[];
