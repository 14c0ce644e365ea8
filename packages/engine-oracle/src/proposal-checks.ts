/** Proposals: their phases against their records, their bounds, and the budgets of change counted again. */
import { HOUR_MS, OPEN_PROPOSALS_MAX, PROPOSAL_STEPS_KEPT, usualProposalRules } from "@headroom/model";
import type { Event, Proposal, ProposalKind, ProposalPhase, ProposalRule } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";

const made: readonly ProposalPhase[] = ["acted", "scored"];
const undecided: readonly ProposalPhase[] = ["advised", "simulated"];

export function checkProposals(findings: Findings, state: ReadonlyState): void {
  const all = [...state.proposals.values()];
  const open = all.filter(({ phase }) => undecided.includes(phase) || phase === "approved").length;
  findings.expect(open <= OPEN_PROPOSALS_MAX, () => `${open} proposals are open`);
  for (const [id, proposal] of state.proposals) checkProposal(findings, id, proposal);
}

function checkProposal(findings: Findings, id: string, proposal: Proposal): void {
  const { phase, effect, actedAtMs, score, steps } = proposal;
  findings.expect(proposal.id === id, () => `proposal ${id} is stored under another id`);
  findings.expect(
    (actedAtMs !== null) === made.includes(phase),
    () => `proposal ${id} is ${phase}, and was acted on at ${actedAtMs}`,
  );
  findings.expect(
    (score !== null) === (phase === "scored"),
    () => `proposal ${id} is ${phase}, which its score does not say`,
  );
  findings.expect(
    effect !== null || !["simulated", "approved", "acted", "scored", "failed"].includes(phase),
    () => `proposal ${id} is ${phase} without a simulated effect`,
  );
  findings.expect(
    steps.length > 0 && steps.length <= PROPOSAL_STEPS_KEPT && steps.at(-1)?.phase === phase,
    () => `proposal ${id} is ${phase}, which its last step does not say`,
  );
}

/** Checks that nobody approved what they proposed unless the rule allows it, and that no hour has more changes than its budget. */
export function checkProposalEvents(findings: Findings, state: ReadonlyState, events: readonly Event[]): void {
  if (state.proposals.size === 0 || events.some(({ kind }) => kind === "proposalRuleSet")) return;
  const ruleOf = (kind: ProposalKind) => state.proposalRules.get(kind) ?? usualProposalRules[kind];
  for (const event of events) {
    if (event.kind !== "proposalApproved" && event.kind !== "proposalActed") continue;
    const proposal = state.proposals.get(event.id);
    if (proposal === undefined) continue;
    const { actor, change } = proposal;
    const rule = ruleOf(change.kind);
    if (event.kind === "proposalApproved") {
      findings.expect(
        event.actor !== actor || rule.ownApproval,
        () => `${actor} approved the own proposal ${event.id}`,
      );
      findings.expect(rule.mode !== "advise", () => `proposal ${event.id} was approved, and its kind only advises`);
      continue;
    }
    const count = [...state.proposals.values()].filter(
      (each) => each.change.kind === change.kind && each.actedAtMs !== null && each.actedAtMs > event.atMs - HOUR_MS,
    ).length;
    // A pool that shrinks in the same batch was larger when the budget was counted.
    if (!events.some(({ kind }) => kind === "nodeRemoved")) checkPoolBudget(findings, state, event.id, rule);
    findings.expect(
      count <= rule.perHourMax,
      () => `${count} ${change.kind} proposals were acted on within an hour, and the budget is ${rule.perHourMax}`,
    );
  }
}

/** Counts the drains of the pool within the hour again, from the recorded proposals and the nodes that are there. */
function checkPoolBudget(findings: Findings, state: ReadonlyState, id: string, rule: ProposalRule): void {
  const proposal = state.proposals.get(id);
  if (proposal?.change.kind !== "drain" || proposal.actedAtMs === null) return;
  const pool = state.nodes.get(proposal.change.nodeId)?.pool;
  if (pool === undefined) return;
  let [drained, size] = [0, 0];
  for (const node of state.nodes.values()) if (node.pool === pool) size++;
  for (const { change, actedAtMs } of state.proposals.values()) {
    if (change.kind !== "drain" || actedAtMs === null || actedAtMs <= proposal.actedAtMs - HOUR_MS) continue;
    if (state.nodes.get(change.nodeId)?.pool === pool) drained++;
  }
  const most = Math.max(1, Math.floor((size * rule.poolPercentPerHourMax) / 100));
  findings.expect(
    drained <= most,
    () => `${drained} nodes of pool ${pool} were drained within an hour, and the budget is ${most} of ${size}`,
  );
}
