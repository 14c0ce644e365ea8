/** Proposals and their rules. No index depends on a proposal but for the runs that wait for one: changes have events of their own. */
import {
  ENDED_PROPOSALS_KEPT,
  HOUR_MS,
  PROPOSAL_STEPS_KEPT,
  canonicalJson,
  invariant,
  isProposalOver,
  usualProposalRules,
} from "@headroom/model";
import type { Proposal, ProposalEvent, ProposalStep } from "@headroom/model";
import { waitForProposal } from "../cluster/world.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

export const proposalEvents: Appliers<ProposalEvent> = {
  proposalCreated(world, { proposal, atMs }) {
    const { actor, reason } = proposal;
    const unset = { effect: null, actedAtMs: null, score: null };
    record(world, { ...proposal, phase: "advised", ...unset, steps: [{ atMs, phase: "advised", actor, reason }] });
  },
  proposalSimulated(world, { id, effect, atMs }) {
    const proposal = proposalOf(world, id);
    step(world, { ...proposal, effect }, { atMs, phase: "simulated", actor: null, reason: "" });
  },
  proposalApproved(world, { id, actor, reason, atMs }) {
    step(world, proposalOf(world, id), { atMs, phase: "approved", actor, reason });
  },
  proposalRejected(world, { id, actor, reason, atMs }) {
    step(world, proposalOf(world, id), { atMs, phase: "rejected", actor, reason });
  },
  proposalWithdrawn(world, { id, actor, reason, atMs }) {
    step(world, proposalOf(world, id), { atMs, phase: "withdrawn", actor, reason });
  },
  proposalExpired(world, { id, atMs }) {
    step(world, proposalOf(world, id), { atMs, phase: "expired", actor: null, reason: "" });
  },
  proposalActed(world, { id, atMs }) {
    step(world, { ...proposalOf(world, id), actedAtMs: atMs }, { atMs, phase: "acted", actor: null, reason: "" });
  },
  proposalFailed(world, { id, code, atMs }) {
    step(world, proposalOf(world, id), { atMs, phase: "failed", actor: null, reason: code });
  },
  proposalScored(world, { id, score, atMs }) {
    step(world, { ...proposalOf(world, id), score }, { atMs, phase: "scored", actor: null, reason: "" });
  },
  proposalRuleSet({ state: { proposalRules } }, { rule }) {
    // A rule that is the usual one again leaves no trace, like one that was never set.
    if (canonicalJson(rule) === canonicalJson(usualProposalRules[rule.kind])) proposalRules.delete(rule.kind);
    else proposalRules.set(rule.kind, rule);
  },
};

function proposalOf({ state: { proposals } }: WritableWorld, id: string): Proposal {
  const proposal = proposals.get(id);
  invariant(proposal !== undefined, `no proposal ${id}`);
  return proposal;
}

function step(world: WritableWorld, proposal: Proposal, made: ProposalStep): void {
  const steps = [...proposal.steps, made].slice(-PROPOSAL_STEPS_KEPT);
  record(world, { ...proposal, phase: made.phase, steps });
  const isOver = isProposalOver({ phase: made.phase });
  if (proposal.run !== undefined) world.pipelines.mark(proposal.run);
  world.pipelines.proposalChanged(proposal.id, isOver);
  if (isOver) forget(world, made.atMs);
}

function record(world: WritableWorld, proposal: Proposal): void {
  world.state.proposals.set(proposal.id, proposal);
  waitForProposal(world, proposal);
}

/** Forgets the oldest proposals that are over and use no budget of change any more. */
function forget({ state: { proposals } }: WritableWorld, nowMs: number): void {
  const over = [...proposals.values()].filter(
    (each) => isProposalOver(each) && (each.actedAtMs === null || each.actedAtMs + HOUR_MS <= nowMs),
  );
  for (const { id } of over.slice(0, Math.max(0, over.length - ENDED_PROPOSALS_KEPT))) proposals.delete(id);
}
