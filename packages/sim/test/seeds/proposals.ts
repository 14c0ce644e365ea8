/** Random commands about proposals. The effect of a simulation is made up: only its starts are of work that waits. */
import type { Command, ProposedChange } from "@headroom/model";
import { PROPOSAL_KINDS, usualProposalRules } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Luck } from "./luck.ts";

type Common = Pick<Command, "commandId" | "actor" | "idempotencyKey">;

/** `null`: no command this time. */
export function proposalCommand(luck: Luck, state: ReadonlyState, common: Common): Command | null {
  if (!luck.chance(20)) return null;
  const roll = luck.below(100);
  if (roll < 10) return ruleCommand(luck, common);
  const open = [...state.proposals.values()].filter(({ phase }) => phase === "advised" || phase === "simulated");
  if (roll < 45 || open.length === 0) return creation(luck, state, common);
  const { id } = luck.pick(open);
  if (roll < 75) return { ...common, kind: "simulateProposal", id, effect: effectOf(state) };
  const verdict = luck.pick<"approve" | "reject" | "withdraw">(["approve", "approve", "approve", "reject", "withdraw"]);
  const actor = luck.pick(["someone", "somebody else"]);
  return { ...common, actor, kind: "decideProposal", id, verdict, reason: "" };
}

function ruleCommand(luck: Luck, common: Common): Command {
  const usual = usualProposalRules[luck.pick(PROPOSAL_KINDS)];
  const rule = {
    ...usual,
    mode: luck.pick<"advise" | "approve" | "automatic">(["advise", "approve", "automatic", "automatic"]),
    ownApproval: luck.chance(50),
    perHourMax: luck.between(0, 3),
    expiresAfterMs: luck.pick([60_000, 3_600_000]),
  };
  return { ...common, kind: "setProposalRule", rule };
}

function creation(luck: Luck, state: ReadonlyState, common: Common): Command | null {
  const change = randomChange(luck, state);
  const ground = [{ measure: "luck", valueMilli: 500, unit: "" }];
  return change === null ? null : { ...common, kind: "createProposal", change, reason: "random", ground };
}

function randomChange(luck: Luck, { nodes, pools, teams, workloads }: ReadonlyState): ProposedChange | null {
  const kind = luck.pick(PROPOSAL_KINDS);
  if (kind === "defragment") return { kind, migrationsMax: luck.between(1, 3) };
  if (kind === "quota") return { kind, team: luck.pick([...teams.keys()]), weight: luck.between(1, 9) };
  if (kind === "advice") return { kind, about: "random", text: `advice ${luck.below(1_000)}` };
  // Random worlds register no artifacts, so that the change is refused.
  if (kind === "alias")
    return { kind, artifact: "model:default/none", alias: "production", number: luck.between(1, 3) };
  if (kind === "order") {
    if (pools.size === 0) return null;
    const arrival = { kind: "leadTime", p50Ms: 60_000, p95Ms: 120_000 } as const;
    const name = `proposed-${luck.below(20)}`;
    return { kind, order: { name, pool: luck.pick([...pools.keys()]), nodeCount: luck.between(1, 3), arrival } };
  }
  if (kind === "spares")
    return pools.size === 0 ? null : { kind, pool: luck.pick([...pools.keys()]), hotSpares: luck.below(2) };
  if (kind === "resume") return nodes.size === 0 ? null : { kind, nodeId: luck.pick([...nodes.keys()]) };
  if (kind === "remediate") {
    if (nodes.size === 0) return null;
    return { kind, remediation: "random", digest: "0", nodeIds: [luck.pick([...nodes.keys()])] };
  }
  if (kind === "drain") {
    if (nodes.size === 0) return null;
    return { kind, nodeId: luck.pick([...nodes.keys()]), running: luck.pick<"wait" | "requeue">(["wait", "requeue"]) };
  }
  const open = [...workloads.values()].filter(({ endedAtMs }) => endedAtMs === null);
  if (open.length === 0) return null;
  const { id, spec } = luck.pick(open);
  if (kind === "restart") return { kind, workloadId: id };
  if (kind === "request") return { kind, workloadId: id, workers: luck.between(1, 2 * spec.gang.workers) };
  return { kind, workloadId: id, priority: luck.between(-5, 5) };
}

function effectOf({ nowMs, workloads }: ReadonlyState): Extract<Command, { kind: "simulateProposal" }>["effect"] {
  const waiting = [...workloads.values()].filter(
    ({ endedAtMs, activeAttempts }) => endedAtMs === null && activeAttempts.length === 0,
  );
  const starts = waiting
    .slice(0, 3)
    .map(({ id }) => ({ workloadId: id, presentAtMs: null, changedAtMs: nowMs + 60_000 }));
  const counts = { earlierCount: starts.length, laterCount: 0, interruptedCount: 0, lostAcceleratorMs: 0 };
  return { atMs: nowMs, horizonMs: 600_000, ...counts, presentUsedMilli: 0, changedUsedMilli: 0, teams: [], starts };
}
