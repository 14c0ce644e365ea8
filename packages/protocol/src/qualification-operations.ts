/** Operations about the qualification of nodes. */
import { nodeAccepted } from "./fleet.ts";
import { byId } from "./operation-queries.ts";
import { commandProblems } from "./operation-problems.ts";
import { operation } from "./operation.ts";
import { qualificationReport } from "./qualification.ts";

export const qualificationOperations = {
  qualifyNode: operation(
    "POST /v1/nodes/{id}/qualify",
    "Let a node pass the suite of its pool again: it takes no new work until then",
    nodeAccepted,
    {
      permission: "fleet.write",
      params: byId,
      status: 202,
      problems: ["unknownNode", "noQualification", ...commandProblems],
    },
  ),
  nodeQualification: operation(
    "GET /v1/nodes/{id}/qualification",
    "Qualification of a node, with the newest result of its suite",
    qualificationReport,
    { permission: "fleet.read", subject: "any", params: byId, problems: ["unknownNode"] },
  ),
};
