/** By what right somebody's work is taken for another's, in words: the same in every list, page and event. */
import type { Event, EvictionPlan, StopReason } from "@headroom/protocol";
import { plural } from "./plain-text.ts";

type Planned = EvictionPlan;
type WaitEnded = Extract<Event, { readonly kind: "checkpointWaitEnded" }>;
type PlannedVictim = Planned["victims"][number];

/** As the end of a sentence about the work that is stopped. */
export const stopReasonText: Readonly<Record<StopReason, string>> = {
  cancelled: "someone asked for it",
  walltimeExceeded: "it ran longer than its walltime",
  nodeDrained: "its node is drained",
  nodeLost: "its node was lost",
  budgetSpent: "the budget of its team is used up",
  preempted: "work of higher priority in its team needs the place",
  reclaimed: "another team takes back what it may claim",
  moved: "it makes room and goes on elsewhere",
  incomplete: "it fell below its least number of workers",
};

/** Why what was asked for a checkpoint is not waited for any longer. */
export const checkpointWaitText: Readonly<Record<WaitEnded["outcome"], string>> = {
  saved: "its checkpoint is written",
  timedOut: "its time for a checkpoint is over",
  cutShort: "there is no more time for a checkpoint",
};

/** The beneficiary's right, as the reason of a plan. */
const planRights: Readonly<Record<Planned["reason"], string>> = {
  preempted: "by its higher priority in the same team",
  reclaimed: "because its team may claim more than it holds",
  moved: "by moving what can go on elsewhere",
  incomplete: "because a gang fell below its least number of workers",
};

const victimRights: Readonly<Record<NonNullable<PlannedVictim["right"]>, string>> = {
  withinTeam: "by the rule of its own team",
  reclaimGuarantee: "for a guarantee",
  reclaimShare: "for the smaller share of two teams that borrow",
  reclaimWhileBorrowing: "by its low priority, for a team that borrows",
};

/** Beyond this many times its claim a share says nothing: the team may claim nothing of what it holds. */
const SHARE_SHOWN_MILLI_MAX = 100_000;

/** A team's standing as a part of its claim: `150%`. */
const shareText = (shareMilli: number): string => `${Math.round(shareMilli / 10)}%`;

/** For whom room is made, by what right, and from whom: everybody named, with both standings of every team that gives. */
export function planSentence({ workloadId, reason, victims, pairsGathered, beneficiary }: Planned): string {
  if (pairsGathered !== undefined)
    return `Workload ${workloadId} is moved to gather what is idle: ${plural(pairsGathered, "pair")} of idle accelerators more lie on one node.`;
  const [first] = victims;
  const one = victims.length === 1 && first !== undefined ? victimText(first) : plural(victims.length, "attempt");
  const whole = `Room is made for workload ${workloadId} ${planRights[reason]}: ${one}`;
  const detail = victims.length > 1 ? ` (${namedVictims(victims)})` : "";
  return `${whole}${detail}. ${standingsSentence(victims, beneficiary)}`;
}

/** What the plan takes from one attempt, seen from its workload. */
export function victimSentence({ workloadId, reason, beneficiary }: Planned, victim: PlannedVictim): string {
  const what = victim.keeps === 0 ? "It is to make room" : `It is to shrink to ${plural(victim.keeps, "worker")}`;
  const right = victim.right === undefined ? "" : ` ${victimRights[victim.right]}`;
  return `${what} for workload ${workloadId}${right}: ${stopReasonText[reason]}. ${standingsSentence([victim], beneficiary)}`;
}

const VICTIMS_NAMED = 4;

function namedVictims(victims: readonly PlannedVictim[]): string {
  const named = victims.slice(0, VICTIMS_NAMED).map(victimText).join(", ");
  return victims.length > VICTIMS_NAMED ? `${named} and ${victims.length - VICTIMS_NAMED} more` : named;
}

function victimText({ attemptId, keeps, right }: PlannedVictim): string {
  const what =
    keeps === 0 ? `attempt ${attemptId} is stopped` : `attempt ${attemptId} keeps ${plural(keeps, "worker")}`;
  return right === undefined ? what : `${what} ${victimRights[right]}`;
}

/** Each team once, last the one for which it is. Every victim is recorded by itself, so where a team gives several their drops add up, near enough. */
function standingsSentence(victims: readonly PlannedVictim[], beneficiary: Planned["beneficiary"]): string {
  const teams = new Map<string, { beforeMilli: number; afterMilli: number; count: number }>();
  for (const { team, teamShareBeforeMilli: beforeMilli, teamShareAfterMilli } of victims) {
    const known = teams.get(team) ?? { beforeMilli, afterMilli: beforeMilli, count: 0 };
    known.afterMilli = Math.max(0, known.afterMilli - (beforeMilli - teamShareAfterMilli));
    known.count += 1;
    teams.set(team, known);
  }
  const parts = [...teams].map(([team, { beforeMilli, afterMilli, count }]) =>
    standingText(team, beforeMilli, `${count > 1 ? "about " : ""}${shareText(afterMilli)}`),
  );
  if (beneficiary !== undefined && !teams.has(beneficiary.team)) {
    const { team, shareBeforeMilli, shareAfterMilli } = beneficiary;
    parts.push(standingText(team, shareBeforeMilli, shareText(shareAfterMilli)));
  }
  return parts.join(" ");
}

const standingText = (team: string, beforeMilli: number, after: string): string =>
  beforeMilli > SHARE_SHOWN_MILLI_MAX
    ? `Team ${team} holds what it has no claim to.`
    : `Team ${team} goes from ${shareText(beforeMilli)} to ${after} of its claim.`;

export interface Standing {
  readonly side: "gives" | "gets";
  readonly team: string;
  /** Whose place is taken, or who gets it. */
  readonly who: string;
  readonly right: string;
  /** Parts of what the team may claim, without the plan and with it. */
  readonly before: string;
  readonly after: string;
}

/** Both sides of a plan, a row for everybody who gives and one for who gets; nobody gets what is only gathered. */
export function standingsOf({ workloadId, reason, victims, beneficiary }: EvictionPlan): Standing[] {
  const gives = victims.map(({ attemptId, keeps, right, ...stands }): Standing => ({
    side: "gives",
    team: stands.team,
    who: keeps === 0 ? attemptId : `${attemptId}, keeps ${plural(keeps, "worker")}`,
    right: right === undefined ? "" : victimRights[right],
    before: claimText(stands.teamShareBeforeMilli),
    after: claimText(stands.teamShareAfterMilli),
  }));
  if (beneficiary === undefined) return gives;
  const { team, shareBeforeMilli, shareAfterMilli } = beneficiary;
  const [before, after] = [claimText(shareBeforeMilli), claimText(shareAfterMilli)];
  return [...gives, { side: "gets", team, who: workloadId, right: planRights[reason], before, after }];
}

const claimText = (shareMilli: number): string =>
  shareMilli > SHARE_SHOWN_MILLI_MAX ? "no claim" : shareText(shareMilli);
