/** Rows of the operations table about remediation of drift. A run begins with an approved proposal of the kind `remediate`. */
import { commandProblems } from "./operation-problems.ts";
import { byId } from "./operation-queries.ts";
import { operation } from "./operation.ts";
import { byRemediation, remediationCheck, remediationList, remediationRun, remediationRunList } from "./remediation.ts";

export const remediationOperations = {
  listRemediations: operation(
    "GET /v1/remediations",
    "Remediations that operators declared, each with the nodes that differed at its last check",
    remediationList,
    { permission: "fleet.read" },
  ),
  checkRemediation: operation(
    "POST /v1/remediations/{name}/checks",
    "Read the facts of all nodes of a remediation now, with its command",
    remediationCheck,
    {
      permission: "fleet.write",
      params: byRemediation,
      status: 200,
      problems: ["unknownRemediation", "tookTooLong", ...commandProblems],
    },
  ),
  listRemediationRuns: operation(
    "GET /v1/remediation-runs",
    "Runs of remediations in waves, the newest first",
    remediationRunList,
    { permission: "fleet.read" },
  ),
  getRemediationRun: operation("GET /v1/remediation-runs/{id}", "One run with the state of each node", remediationRun, {
    permission: "fleet.read",
    params: byId,
    problems: ["unknownRemediationRun"],
  }),
  cancelRemediationRun: operation(
    "DELETE /v1/remediation-runs/{id}",
    "Change no further node: nodes that were begun are proven and return",
    remediationRun,
    {
      permission: "fleet.write",
      params: byId,
      problems: ["unknownRemediationRun", "remediationRunOver", ...commandProblems],
    },
  ),
};
