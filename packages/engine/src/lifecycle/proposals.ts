/**
 * Commands about proposals: a user proposes, another approves or rejects, the first may withdraw. The round makes the
 * approved change (`round/keep-proposals.ts`). The effect comes from a simulation outside the engine.
 */
import {
  CONTROL_PLANE_ACTOR,
  OPEN_PROPOSALS_OF_CONTROL_PLANE_MAX,
  OPEN_PROPOSALS_OF_USERS_MAX,
  OPEN_PROPOSALS_OF_USER_MAX,
  canonicalJson,
  isProposalOpen,
  unreachable,
} from "@headroom/model";
import type {
  AliasChange,
  Command,
  NodeId,
  PipelineRun,
  PipelineRunId,
  Proposal,
  ProposedChange,
  Rejection,
  TeamName,
} from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { World } from "../cluster/world.ts";
import type { ReadonlyState } from "../state/state.ts";
import { effectOfMove, gateRefusal, proposedMove } from "./alias-gates.ts";
import { planApply } from "./apply-documents.ts";
import { moveRefusal } from "./artifacts.ts";
import { planCreation } from "./capacity-orders.ts";
import { budgetRefusal, proposalRuleOf } from "./change-budget.ts";
import { planChange } from "./change-workload.ts";
import { restartRefusal } from "./restart-workload.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { commandOfChange } from "./proposed-changes.ts";
import type { ChangeCommandBody } from "./proposed-changes.ts";

type ProposalCommandOf<Kind extends Command["kind"]> = Command & { readonly kind: Kind };

export function createProposal(batch: Batch, command: ProposalCommandOf<"createProposal">): Decision {
  const { world, nowMs: atMs } = batch;
  const rejection = creationRefusal(world, command, atMs);
  if (rejection !== null) return refused(rejection);
  return done({ kind: "proposalSet", ...recordProposal(batch, command) });
}

type ProposalDraft = Pick<
  ProposalCommandOf<"createProposal">,
  "change" | "actor" | "reason" | "ground" | "agent" | "team"
>;

function recordProposal(
  batch: Batch,
  draft: ProposalDraft,
  run?: PipelineRunId,
): { readonly id: string; readonly phase: "advised" | "simulated" } {
  const { world, nowMs: atMs } = batch;
  const { state } = world;
  const { change, actor, reason, ground, agent } = draft;
  // The sequence of the event that records the proposal: no other proposal ever has it.
  const id = `p${state.sequence + 1}`;
  const { expiresAfterMs } = proposalRuleOf(state, change.kind);
  const named = agent === undefined ? {} : { agent };
  const spec = { id, change, team: teamOf(state, draft), actor, ...named, reason, ground };
  const ofRun = run === undefined ? {} : { run };
  const proposal = { ...spec, expiresAtMs: atMs + expiresAfterMs, ...ofRun };
  batch.emit({ kind: "proposalCreated", version: 5, atMs, proposal });
  if (change.kind !== "alias") return { id, phase: "advised" };
  batch.emit({ kind: "proposalSimulated", version: 1, atMs, id, effect: effectOfMove(atMs) });
  return { id, phase: "simulated" };
}

/** Proposes to move an alias with a gate, for a step of a pipeline. */
export function proposeMove(
  batch: Batch,
  change: AliasChange,
  { run, reason }: { readonly run: PipelineRun; readonly reason: string },
): { readonly id: string } | Rejection {
  const draft = { change, actor: run.actor, reason, ground: [] };
  return creationRefusal(batch.world, draft, batch.nowMs) ?? recordProposal(batch, draft, run.id);
}

/** Withdraws the proposal of a step that is cancelled, if it is not decided and neither a user nor another run waits for it. */
export function withdrawMove(batch: Batch, id: string, { id: runId, actor }: PipelineRun): void {
  const { state, pipelines } = batch.world;
  const proposal = state.proposals.get(id);
  if (proposal === undefined || !isUndecided(proposal) || proposal.run === undefined) return;
  if (pipelines.runsAwaiting(id).some((other) => other !== runId && awaits(state.pipelineRuns.get(other), id))) return;
  const fact = { kind: "proposalWithdrawn", version: 1, atMs: batch.nowMs, id, actor } as const;
  batch.emit({ ...fact, reason: "the run was cancelled" });
}

const awaits = (run: PipelineRun | undefined, proposalId: string): boolean =>
  run !== undefined &&
  [...run.steps.values()].some((own) => own.phase === "awaitingApproval" && own.proposalId === proposalId);

function creationRefusal(world: World, { change, actor }: ProposalDraft, nowMs: number): Rejection | null {
  const open = [...world.state.proposals.values()].filter(isProposalOpen);
  const text = canonicalJson(change);
  const same = open.find((each) => canonicalJson(each.change) === text);
  if (same !== undefined) return { code: "proposalExists", id: same.id };
  return numberRefusal(open, actor) ?? changeRefusal(world, change, nowMs);
}

function numberRefusal(open: readonly Proposal[], actor: string): Rejection | null {
  const isOfUser = actor !== CONTROL_PLANE_ACTOR;
  const own = open.filter((each) => each.actor === actor).length;
  const maxCount = isOfUser ? OPEN_PROPOSALS_OF_USER_MAX : OPEN_PROPOSALS_OF_CONTROL_PLANE_MAX;
  if (own >= maxCount) return { code: "tooManyProposals", count: own + 1, maxCount, actor };
  const ofUsers = open.filter((each) => each.actor !== CONTROL_PLANE_ACTOR).length;
  if (!isOfUser || ofUsers < OPEN_PROPOSALS_OF_USERS_MAX) return null;
  return { code: "tooManyProposals", count: ofUsers + 1, maxCount: OPEN_PROPOSALS_OF_USERS_MAX, actor: null };
}

/** The team whose readers see the proposal. */
function teamOf({ workloads }: ReadonlyState, { change, team }: ProposalDraft): TeamName | null {
  if (change.kind === "advice") return team ?? null;
  if (change.kind === "quota") return change.team;
  if (change.kind === "alias") return proposedMove(change)?.name.team ?? null;
  if (change.kind === "priority" || change.kind === "restart" || change.kind === "request")
    return workloads.get(change.workloadId)?.spec.team ?? null;
  return null;
}

/** The reason why the change itself would be refused now, or `null` if it would not. */
export function changeRefusal(world: World, change: ProposedChange, nowMs: number): Rejection | null {
  const { state } = world;
  if (change.kind === "quota" && !state.teams.has(change.team)) return { code: "unknownTeam", team: change.team };
  if (change.kind === "spares" && !state.pools.has(change.pool)) return { code: "unknownPool", pool: change.pool };
  if (change.kind === "remediate") return absentNode(state, change.nodeIds);
  if (change.kind === "alias") {
    const move = proposedMove(change);
    if (move === null) return { code: "unknownArtifact", artifact: change.artifact };
    return moveRefusal(state, move.name, move.target, "proposal");
  }
  const body = commandOfChange(state, change);
  if (body === null) return null;
  if (body.kind === "drainNode" || body.kind === "resumeNode")
    return state.nodes.has(body.nodeId) ? null : { code: "unknownNode", nodeId: body.nodeId };
  if (body.kind === "createCapacityOrder") return orderRefusal(world, body);
  if (body.kind === "restartWorkload") return restartRefusal(world, body.workloadId);
  const decision =
    body.kind === "apply" ? planApply(world, body, nowMs) : planChange(world, body.workloadId, body.changes);
  return decision.kind === "refused" ? decision.rejection : null;
}

function orderRefusal(world: World, { order }: Extract<ChangeCommandBody, { readonly kind: "createCapacityOrder" }>) {
  const decision = planCreation(world.state, { order, phase: "planned" });
  return decision.kind === "refused" ? decision.rejection : null;
}

function absentNode({ nodes }: ReadonlyState, ids: readonly NodeId[]): Rejection | null {
  const nodeId = ids.find((id) => !nodes.has(id));
  return nodeId === undefined ? null : { code: "unknownNode", nodeId };
}

export function simulateProposal(batch: Batch, { id, effect }: ProposalCommandOf<"simulateProposal">): Decision {
  const proposal = batch.world.state.proposals.get(id);
  if (proposal === undefined) return refused({ code: "unknownProposal", id });
  if (!isUndecided(proposal)) return refused({ code: "proposalDecided", id, phase: proposal.phase });
  batch.emit({ kind: "proposalSimulated", version: 1, atMs: batch.nowMs, id, effect });
  return done({ kind: "proposalSet", id, phase: "simulated" });
}

const isUndecided = ({ phase }: Proposal): boolean => phase === "advised" || phase === "simulated";

export function decideProposal(batch: Batch, command: ProposalCommandOf<"decideProposal">): Decision {
  const { id, verdict, actor, reason } = command;
  const proposal = batch.world.state.proposals.get(id);
  if (proposal === undefined) return refused({ code: "unknownProposal", id });
  if (!isUndecided(proposal)) return refused({ code: "proposalDecided", id, phase: proposal.phase });
  const fact = { version: 1, atMs: batch.nowMs, id, actor, reason } as const;
  switch (verdict) {
    case "withdraw":
      if (proposal.actor !== actor) return refused({ code: "othersProposal", id, actor: proposal.actor });
      batch.emit({ kind: "proposalWithdrawn", ...fact });
      return done({ kind: "proposalSet", id, phase: "withdrawn" });
    case "reject":
      batch.emit({ kind: "proposalRejected", ...fact });
      return done({ kind: "proposalSet", id, phase: "rejected" });
    case "approve": {
      const rejection = approvalRefusal(batch, proposal, actor);
      if (rejection !== null) return refused(rejection);
      batch.emit({ kind: "proposalApproved", ...fact });
      return done({ kind: "proposalSet", id, phase: "approved" });
    }
    default:
      return unreachable(verdict);
  }
}

/** The reason why the proposal cannot be approved, or `null` if it can. `actor: null`: its rule would approve it. */
export function approvalRefusal(
  { world, nowMs }: Batch,
  { id, change, phase, actor: proposer }: Proposal,
  actor: string | null,
): Rejection | null {
  const { mode, ownApproval } = proposalRuleOf(world.state, change.kind);
  if (mode === "advise") return { code: "proposalOnlyAdvises", id, of: change.kind };
  if (phase !== "simulated") return { code: "proposalNotSimulated", id };
  if (actor === proposer && !ownApproval) return { code: "ownProposal", id, actor };
  const removal = actor === null && change.kind === "alias" && change.number === null ? proposedMove(change) : null;
  // Without a version to compare with, any other one would pass the gate: a rule does not decide about that.
  const gate = removal === null ? null : gateRefusal(world.state, removal.name, removal.target, "user");
  if (gate !== null) return gate;
  return changeRefusal(world, change, nowMs) ?? budgetRefusal(world.state, change, nowMs);
}

export function setProposalRule(batch: Batch, { rule, actor }: ProposalCommandOf<"setProposalRule">): Decision {
  if (canonicalJson(proposalRuleOf(batch.world.state, rule.kind)) !== canonicalJson(rule))
    batch.emit({ kind: "proposalRuleSet", version: 5, atMs: batch.nowMs, rule, actor });
  return done({ kind: "proposalRuleSet", of: rule.kind });
}
