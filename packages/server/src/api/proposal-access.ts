/**
 * Access to proposals. A member proposes what is about the own team. The team above decides about quotas, so nobody
 * decides about the own team, and a change that reaches beyond the grant is for the whole control plane to decide.
 */
import type { ReadonlyState } from "@headroom/engine";
import { parseArtifactRef, teamWithQuota } from "@headroom/model";
import type { Proposal, TeamName, WorkloadId } from "@headroom/model";
import { ProblemError } from "@headroom/protocol";
import type { Permission, ProposalRequest } from "@headroom/protocol";
import { rejectionProblem } from "@headroom/views";
import type { Principal, Resource } from "../auth/authorize.ts";
import { withTeamsAbove } from "../auth/team-tree.ts";
import { permissionDenied } from "./access.ts";
import type { ReadCall, ResourceNeed } from "./resource-need.ts";
import { beyondGrants } from "./team-rights.ts";

const rejected = (rejection: Parameters<typeof rejectionProblem>[0]): Error =>
  new ProblemError(rejectionProblem(rejection));

/** Proposals about the whole fleet are read by all who read proposals; those about a team by its readers. */
export function ofProposal(
  state: ReadonlyState,
  permission: Permission,
  { principal }: ReadCall,
  id: string,
): ResourceNeed[] {
  const absent = (): Error => rejected({ code: "unknownProposal", id });
  const proposal = state.proposals.get(id);
  // An unknown id looks like a proposal of a team that the principal may not see.
  const team = proposal === undefined ? ("" as TeamName) : proposal.team;
  if (team === null) return permission === "proposals.read" ? [] : [ofFleet(permission, principal, id)];
  const seen = { kind: "proposals", name: id, teams: withTeamsAbove(state, team), owner: null };
  const read: ResourceNeed = { permission: "proposals.read", resource: seen, absent };
  if (permission !== "proposals.decide" || proposal === undefined)
    return [read, { permission, resource: seen, absent }];
  return [read, ...ofDecision(state, permission, principal, proposal)];
}

function ofFleet(permission: Permission, principal: Principal, name: string): ResourceNeed {
  const resource: Resource = { kind: "proposals", name, teams: [], owner: null };
  return { permission, resource, absent: () => permissionDenied(principal, permission, resource) };
}

function ofDecision(
  state: ReadonlyState,
  permission: Permission,
  principal: Principal,
  { id, team, change }: Proposal,
): ResourceNeed[] {
  const path = team === null ? [] : withTeamsAbove(state, team);
  const need = (resource: Resource): ResourceNeed => ({
    permission,
    resource,
    absent: () => permissionDenied(principal, permission, resource),
  });
  if (change.kind !== "quota") return [need({ kind: "proposals", name: id, teams: path, owner: null })];
  const current = state.teams.get(change.team);
  const declared = current === undefined ? [] : [teamWithQuota(current, change)];
  return [
    need({ kind: "proposals", name: id, teams: path.slice(1), owner: null }),
    ...beyondGrants(state, { principal, permission }, declared).map(need),
  ];
}

/** A proposer needs a role on the team that the change is about, or on the whole control plane. */
export function ofProposed(
  state: ReadonlyState,
  permission: Permission,
  { body, principal }: ReadCall,
): ResourceNeed[] {
  const { change } = body as ProposalRequest;
  const ofTeam = (team: TeamName, absent: () => Error): ResourceNeed[] => [
    { permission, resource: { kind: "teams", name: team, teams: withTeamsAbove(state, team), owner: null }, absent },
  ];
  switch (change.kind) {
    case "quota":
      return ofTeam(change.team as TeamName, () => rejected({ code: "unknownTeam", team: change.team }));
    case "priority":
    case "restart":
    case "request": {
      const { workloadId } = change;
      const team = state.workloads.get(workloadId as WorkloadId)?.spec.team ?? ("" as TeamName);
      return ofTeam(team, () => rejected({ code: "unknownWorkload", workloadId }));
    }
    case "alias": {
      const team = parseArtifactRef(change.artifact)?.team ?? ("" as TeamName);
      return ofTeam(team, () => rejected({ code: "unknownArtifact", artifact: change.artifact }));
    }
    case "drain":
    case "defragment":
    case "resume":
    case "spares":
    case "order":
    case "advice":
    case "remediate":
      return [ofFleet(permission, principal, change.kind)];
  }
}
