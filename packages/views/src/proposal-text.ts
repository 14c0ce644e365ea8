/** Proposals in sentences: the change, its effect, refusals and events. */
import type {
  CapacityOrderDraft,
  Proposal as EngineProposal,
  ProposalEffect,
  ProposedChange,
  QuotaChange,
  Rejection,
  RequestChange,
} from "@headroom/model";
import { writeInstant } from "@headroom/protocol";
import type { Event, ProposalPhase, ProposalRule } from "@headroom/protocol";
import { acceleratorTimeText, durationText, grouped, plural } from "./plain-text.ts";
import { amountText } from "./team-text.ts";

const proposalCodes = [
  "unknownProposal",
  "proposalExists",
  "tooManyProposals",
  "proposalDecided",
  "proposalNotSimulated",
  "proposalOnlyAdvises",
  "ownProposal",
  "othersProposal",
  "changeBudgetUsed",
] as const;
export type ProposalRejection = Extract<Rejection, { readonly code: (typeof proposalCodes)[number] }>;

export const isProposalRejection = (rejection: Rejection): rejection is ProposalRejection =>
  proposalCodes.some((code) => code === rejection.code);

export function proposalRejectionSentence(rejection: ProposalRejection): string {
  switch (rejection.code) {
    case "unknownProposal":
      return `There is no proposal ${rejection.id}. headroom proposal list --all shows all that are kept.`;
    case "proposalExists":
      return `Proposal ${rejection.id} asks for the same change and is open. Wait for its decision, or withdraw it.`;
    case "tooManyProposals": {
      const { actor, count, maxCount } = rejection;
      const whose = actor === null ? "" : ` of ${actor}`;
      return `${plural(count, "proposal")}${whose} would be open, and the limit is ${grouped(maxCount)}. Decide or withdraw some.`;
    }
    case "proposalDecided":
      return `Proposal ${rejection.id} ${phaseTexts[rejection.phase]}, so it cannot be decided again. Create a new one.`;
    case "proposalNotSimulated":
      return `Proposal ${rejection.id} has no simulated effect yet. Simulate it first: headroom proposal simulate ${rejection.id}.`;
    case "proposalOnlyAdvises":
      return `The rule for ${rejection.of} proposals lets nobody approve ${rejection.id}. Make the change yourself, or set the mode with headroom proposal rule.`;
    case "ownProposal":
      return `${rejection.actor} proposed ${rejection.id}, so another user must approve it.`;
    case "othersProposal":
      return `${rejection.actor} proposed ${rejection.id}. Reject it instead.`;
    case "changeBudgetUsed": {
      const { of, pool, count, maxCount, freeAtMs } = rejection;
      const where = pool === null ? "" : ` in pool ${pool}`;
      return `${plural(count, `${of} proposal`)}${where} took effect within the last hour, and the budget of change is ${grouped(maxCount)}. Approve again after ${writeInstant(freeAtMs)}.`;
    }
  }
}

export function proposedChangeText(change: ProposedChange, nameOf: (workloadId: string) => string = String): string {
  switch (change.kind) {
    case "quota":
      return `Set ${quotaTexts(change).join("; ")} of team ${change.team}`;
    case "priority":
      return `Set the priority of ${nameOf(change.workloadId)} to ${change.priority}`;
    case "drain":
      return `Drain node ${change.nodeId}${change.running === "requeue" ? " and queue its work again" : ", and let its work end"}`;
    case "defragment":
      return `Migrate at most ${plural(change.migrationsMax, "workload")} to gather idle accelerators`;
    case "resume":
      return `Resume node ${change.nodeId}`;
    case "restart":
      return `Restart ${nameOf(change.workloadId)} from its checkpoint`;
    case "spares":
      return `Keep ${plural(change.hotSpares, "hot spare")} in pool ${change.pool}`;
    case "order":
      return orderChangeText(change.order);
    case "advice":
      return `${change.about}: ${change.text}`;
    case "remediate":
      return `Carry out remediation ${change.remediation} on ${nodesText(change.nodeIds)}, in waves`;
    case "alias":
      return change.number === null
        ? `Remove the alias ${change.artifact}@${change.alias}`
        : `Point the alias ${change.artifact}@${change.alias} to version ${change.number}`;
    case "request":
      return `Change the request of ${nameOf(change.workloadId)}: ${requestText(change)}`;
  }
}

function orderChangeText({ name, pool, nodeCount, arrival }: CapacityOrderDraft): string {
  const expected =
    arrival.kind === "leadTime"
      ? `in ${durationText(arrival.p50Ms)} (95%: ${durationText(arrival.p95Ms)})`
      : `on ${writeInstant(arrival.p50AtMs)}`;
  return `Plan order ${name} of ${plural(nodeCount, "node")} for pool ${pool}, expected ${expected}`;
}

const NODES_NAMED_MAX = 4;

const nodesText = (ids: readonly string[]): string =>
  ids.length <= NODES_NAMED_MAX
    ? ids.join(", ")
    : `${ids.slice(0, NODES_NAMED_MAX).join(", ")} and ${grouped(ids.length - NODES_NAMED_MAX)} more nodes`;

function requestText({ walltimeMs, workers, minWorkers }: RequestChange): string {
  const texts = [
    walltimeMs === undefined ? "" : `walltime ${durationText(walltimeMs)}`,
    workers === undefined ? "" : plural(workers, "worker"),
    minWorkers === undefined ? "" : `at least ${plural(minWorkers, "worker")}`,
  ].filter((text) => text !== "");
  return texts.length === 0 ? "nothing" : texts.join(", ");
}

function quotaTexts({ guarantee, limit, userLimit, weight }: QuotaChange): readonly string[] {
  const amounts = Object.entries({ guarantee, limit, "limit per user": userLimit }).flatMap(([field, changes = {}]) =>
    Object.entries(changes).map(([resource, amount]) =>
      amount === null ? `no ${field} of ${resource}` : `${field} of ${resource} to ${amountText(resource, amount)}`,
    ),
  );
  const texts = [...amounts, ...(weight === undefined ? [] : [`weight to ${weight}`])];
  return texts.length === 0 ? ["nothing"] : texts;
}

export function proposalEffectText({
  horizonMs,
  earlierCount,
  laterCount,
  interruptedCount,
  lostAcceleratorMs,
  presentUsedMilli,
  changedUsedMilli,
}: Omit<ProposalEffect, "teams" | "starts">): string {
  const starts = `${plural(earlierCount, "waiting workload")} would start earlier and ${grouped(laterCount)} later`;
  const lost = lostAcceleratorMs > 0 ? `, ${acceleratorTimeText(lostAcceleratorMs)} repeated` : "";
  const used = (milli: number): string => grouped(Math.round(milli / 100) / 10);
  const use =
    presentUsedMilli === changedUsedMilli
      ? ""
      : `; ${used(presentUsedMilli)} accelerators in use on average without the change, ${used(changedUsedMilli)} with it`;
  const interrupted = `${plural(interruptedCount, "running workload")} interrupted${lost}`;
  // Migrations move no start, so nothing is played.
  if (horizonMs === 0) return `${interrupted}.`;
  return `In ${durationText(horizonMs)}, ${starts}; ${interrupted}${use}.`;
}

const phaseTexts: Readonly<Record<ProposalPhase, string>> = {
  advised: "waits for its simulation",
  simulated: "waits for a decision",
  approved: "is approved",
  acted: "is made",
  scored: "is made and scored",
  rejected: "is rejected",
  withdrawn: "is withdrawn",
  expired: "has expired",
  failed: "was approved, and could not be made",
};

export const proposalPhaseText = (phase: ProposalPhase): string => phaseTexts[phase];

const proposerText = ({ actor, agent }: { readonly actor: string; readonly agent?: string | undefined }): string =>
  agent === undefined ? actor : `${agent} for ${actor}`;

export function proposalSentence(
  { id, change, actor, agent, phase, score }: EngineProposal,
  nameOf?: (workloadId: string) => string,
): string {
  const scored =
    score === null || score.expectedCount === 0
      ? ""
      : ` ${grouped(score.startedCount)} of ${plural(score.expectedCount, "expected start")} took place, ${durationText(score.meanErrorMs)} off on average.`;
  return `${proposedChangeText(change, nameOf)}: proposal ${id} by ${proposerText({ actor, agent })} ${phaseTexts[phase]}.${scored}`;
}

type WireProposalEvent = Extract<Event, { readonly kind: `proposal${string}` }>;

export const isProposalEvent = (event: Event): event is WireProposalEvent => event.kind.startsWith("proposal");

const because = (reason: string): string => (reason === "" ? "" : `: ${reason}`);

export function proposalEventSentence(event: WireProposalEvent): string {
  switch (event.kind) {
    case "proposalCreated": {
      const { id, change, actor, agent, reason } = event.proposal;
      return `${proposerText({ actor, agent })} proposed ${id}: ${proposedChangeText(change as ProposedChange)}${because(reason)}.`;
    }
    case "proposalSimulated":
      return `Proposal ${event.id} was simulated. ${proposalEffectText(event.effect)}`;
    case "proposalApproved":
      return `${event.actor ?? "The rule of its kind"} approved proposal ${event.id}${because(event.reason)}.`;
    case "proposalRejected":
      return `${event.actor} rejected proposal ${event.id}${because(event.reason)}.`;
    case "proposalWithdrawn":
      return `${event.actor} withdrew proposal ${event.id}${because(event.reason)}.`;
    case "proposalExpired":
      return `Proposal ${event.id} expired without a decision.`;
    case "proposalActed":
      return `The change of proposal ${event.id} was made${event.migrations === undefined ? "" : `, with ${plural(event.migrations, "migration")}`}.`;
    case "proposalFailed":
      return `The change of proposal ${event.id} was refused: ${event.code}.`;
    case "proposalScored":
      return `Proposal ${event.id} was scored: ${grouped(event.score.startedCount)} of ${plural(event.score.expectedCount, "expected start")} took place.`;
    case "proposalRuleSet":
      return `${event.actor} set the rule of ${event.rule.kind} proposals: ${proposalRuleText(event.rule)}.`;
  }
}

export function proposalRuleText({ kind, mode, ownApproval, perHourMax, poolPercentPerHourMax }: ProposalRule): string {
  const modes = { advise: "advice only", approve: "another user approves", automatic: "approved once simulated" };
  const own = mode === "approve" && ownApproval ? "any user approves, the proposer too" : modes[mode];
  const pool = kind === "drain" || kind === "remediate" ? `, ${poolPercentPerHourMax}% of a pool` : "";
  return `${own}; at most ${grouped(perHourMax)} an hour${pool}`;
}
