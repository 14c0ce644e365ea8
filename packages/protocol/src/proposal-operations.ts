/** Rows of the operations table about proposals. */
import { z } from "zod";
import { operation } from "./operation.ts";
import { byId } from "./operation-queries.ts";
import { commandProblems } from "./operation-problems.ts";
import {
  decisionRequest,
  proposal,
  proposalKind,
  proposalPage,
  proposalQuery,
  proposalRequest,
  proposalRuleRequest,
  proposalRules,
  recordedProposalRule,
  withdrawalRequest,
} from "./proposal.ts";

const ofChange = [
  "unknownTeam",
  "unknownWorkload",
  "workloadEnded",
  "cannotChange",
  "unknownNode",
  "unknownPool",
  "notRunning",
  "tooManyTypes",
  "unknownArtifact",
  "gateFailed",
] as const;

export const proposalOperations = {
  listProposals: operation("GET /v1/proposals", "Proposed changes with their simulated effects", proposalPage, {
    permission: "proposals.read",
    subject: "teams",
    query: proposalQuery,
    problems: ["invalidCursor"],
  }),
  getProposal: operation("GET /v1/proposals/{id}", "One proposal with its effect and its steps", proposal, {
    permission: "proposals.read",
    subject: "proposal",
    params: byId,
    problems: ["unknownProposal"],
  }),
  createProposal: operation(
    "POST /v1/proposals",
    "Propose a change of a quota, a priority, a request, a node or spares, a restart, defragmentation, an alias, an order or advice, and simulate it",
    proposal,
    {
      permission: "proposals.write",
      subject: "proposed",
      body: proposalRequest,
      status: 201,
      problems: ["proposalExists", "tooManyProposals", ...ofChange, ...commandProblems],
    },
  ),
  simulateProposal: operation("POST /v1/proposals/{id}/simulate", "Simulate the effect again, from now", proposal, {
    permission: "proposals.write",
    subject: "proposal",
    params: byId,
    problems: ["unknownProposal", "proposalDecided", "overloaded", "tookTooLong", ...commandProblems],
  }),
  decideProposal: operation("POST /v1/proposals/{id}/decide", "Approve or reject a proposal", proposal, {
    permission: "proposals.decide",
    subject: "proposal",
    params: byId,
    body: decisionRequest,
    problems: [
      "unknownProposal",
      "proposalDecided",
      "proposalNotSimulated",
      "proposalOnlyAdvises",
      "ownProposal",
      "changeBudgetUsed",
      ...ofChange,
      ...commandProblems,
    ],
  }),
  withdrawProposal: operation("POST /v1/proposals/{id}/withdraw", "Withdraw one's own proposal", proposal, {
    permission: "proposals.write",
    subject: "proposal",
    params: byId,
    body: withdrawalRequest,
    problems: ["unknownProposal", "proposalDecided", "othersProposal", ...commandProblems],
  }),
  proposalRules: operation(
    "GET /v1/proposal-rules",
    "Rules of each kind of proposal: its approval and its budget of change",
    proposalRules,
    {
      permission: "proposals.read",
      subject: "any",
    },
  ),
  setProposalRule: operation(
    "PUT /v1/proposal-rules/{kind}",
    "Change the rule of a kind of proposal",
    recordedProposalRule,
    {
      permission: "policy.write",
      params: z.strictObject({ kind: proposalKind }),
      body: proposalRuleRequest,
      problems: commandProblems,
    },
  ),
};
