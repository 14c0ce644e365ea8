/** Rows of the operations table about the health of the fleet: incidents, faults and the summary. */
import { findingList } from "./finding.ts";
import {
  annotationRequest,
  faultReport,
  faultsAccepted,
  healthSummary,
  incident,
  incidentPage,
  incidentQuery,
  linkMap,
  peerComparison,
} from "./incident.ts";
import { byId } from "./operation-queries.ts";
import { commandProblems } from "./operation-problems.ts";
import { operation } from "./operation.ts";

export const incidentOperations = {
  listIncidents: operation("GET /v1/incidents", "Incidents: failures of one cause, the newest first", incidentPage, {
    permission: "fleet.read",
    subject: "teams",
    query: incidentQuery,
    problems: ["invalidCursor"],
  }),
  getIncident: operation("GET /v1/incidents/{id}", "One incident with its blast radius, work and timeline", incident, {
    permission: "fleet.read",
    subject: "teams",
    params: byId,
    problems: ["unknownIncident"],
  }),
  annotateIncident: operation(
    "POST /v1/incidents/{id}/annotations",
    "Acknowledge, silence or resolve an incident, or write a note to it",
    incident,
    {
      permission: "fleet.write",
      params: byId,
      body: annotationRequest,
      problems: ["unknownIncident", ...commandProblems],
    },
  ),
  fleetHealth: operation(
    "GET /v1/health",
    "Health of the fleet: nodes by phase, incidents, faults, blast radius of each failure domain",
    healthSummary,
    { permission: "fleet.read" },
  ),
  comparePeers: operation(
    "GET /v1/health/peers",
    "Nodes and accelerators whose recent readings differ from those of their comparable set",
    peerComparison,
    { permission: "fleet.read", problems: ["overloaded"] },
  ),
  linkMap: operation(
    "GET /v1/health/links",
    "Link map: pairs of nodes, adapters and uplinks of leaves that are slow beside their peers, as suites measured them",
    linkMap,
    { permission: "fleet.read" },
  ),
  listFindings: operation(
    "GET /v1/findings",
    "Findings about the fleet that a change of it answers, each with its proposal",
    findingList,
    { permission: "fleet.read", subject: "teams" },
  ),
  reportFaults: operation(
    "POST /v1/nodes/{id}/faults",
    "Report faults of a node, as `headroom health read` finds them in logs",
    faultsAccepted,
    {
      permission: "fleet.write",
      params: byId,
      body: faultReport,
      status: 202,
      problems: ["unknownNode", ...commandProblems],
    },
  ),
};
