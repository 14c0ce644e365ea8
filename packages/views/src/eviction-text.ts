/** Preemption grounds in words. Every list, page and event uses the same words. */
import type { ClosedBy, Event, EvictionPlan, StopReason } from "@headroom/protocol";
import { plural } from "./plain-text.ts";

type Planned = EvictionPlan;
type WaitEnded = Extract<Event, { readonly kind: "checkpointWaitEnded" }>;
type StopRequested = Extract<Event, { readonly kind: "attemptStopRequested" }>;
type PlannedVictim = Planned["victims"][number];

/** The reason for stopping work, as the end of a sentence. */
export const stopReasonText: Readonly<Record<StopReason, string>> = {
  cancelled: "stopped on request",
  walltimeExceeded: "walltime exceeded",
  nodeDrained: "its node is drained",
  nodeLost: "its node was lost",
  budgetSpent: "the budget of its team is used up",
  scaledDown: "its endpoint needs fewer replicas",
  notReady: "it did not become ready in time",
  restarted: "an approved proposal restarts it",
  preempted: "preempted by work of higher priority in its team",
  reclaimed: "reclaimed for a team below its entitlement",
  migrated: "migrated to free capacity",
  incomplete: "gang below its minimum number of workers",
};

/** The end of a sentence: a window or notice with its name, or else only the reason. */
export const stopText = ({ reason, closedBy }: Pick<StopRequested, "reason" | "closedBy">): string =>
  closedBy === undefined ? stopReasonText[reason] : `it is stopped for ${closedByText(closedBy)}`;

/** `maintenance window upgrade (new firmware)`, `reservation demo`, `the notice on node n1 (spot reclaim)`. */
export function closedByText(by: ClosedBy): string {
  if (by.kind === "reservation") return `reservation ${by.name}`;
  const what = by.kind === "notice" ? `the notice on node ${by.nodeId}` : `maintenance window ${by.name}`;
  return by.reason === undefined ? what : `${what} (${by.reason})`;
}

/** The reason why the engine stops waiting for a requested checkpoint. */
export const checkpointWaitText: Readonly<Record<WaitEnded["outcome"], string>> = {
  saved: "its checkpoint is written",
  timedOut: "the time for its checkpoint is over",
  cutShort: "no time is left for a checkpoint",
};

/** The preemptor's ground, which is the reason of a plan. */
const planGrounds: Readonly<Record<Planned["reason"], string>> = {
  preempted: "by priority within the team",
  reclaimed: "for its team's entitlement",
  migrated: "by migration",
  incomplete: "because a gang fell below its minimum number of workers",
};

const victimGrounds: Readonly<Record<NonNullable<PlannedVictim["ground"]>, string>> = {
  withinTeam: "within its team",
  reclaimGuarantee: "for a guarantee",
  reclaimShare: "by fair share between borrowing teams",
  reclaimWhileBorrowing: "by low priority, for a borrowing team",
};

/**
 * Multiple of the entitlement beyond which a share is not shown as a number, because the entitlement is nearly zero.
 */
const SHARE_SHOWN_MILLI_MAX = 100_000;

/** A team's share in percent of its entitlement, such as `150%`. */
const shareText = (shareMilli: number): string => `${Math.round(shareMilli / 10)}%`;

/** Preemptor, ground and victims of a plan, with names, and with both shares of every donor team. */
export function planSentence({ workloadId, reason, victims, pairsGathered, preemptor }: Planned): string {
  if (pairsGathered !== undefined)
    return `Workload ${workloadId} is migrated by defragmentation: ${plural(pairsGathered, "pair")} of idle accelerators gathered on one node.`;
  const [first] = victims;
  const one = victims.length === 1 && first !== undefined ? victimText(first) : plural(victims.length, "attempt");
  const whole = `Capacity is freed for workload ${workloadId} ${planGrounds[reason]}: ${one}`;
  const detail = victims.length > 1 ? ` (${namedVictims(victims)})` : "";
  return `${whole}${detail}. ${teamSharesSentence(victims, preemptor)}`;
}

/** The evictions of the plan from one workload, each once, with its team's share after the whole plan. */
export function victimSentence(
  { workloadId, reason, victims, preemptor }: Planned,
  own: readonly PlannedVictim[],
): string {
  const counts = new Map<string, { readonly victim: PlannedVictim; count: number }>();
  for (const victim of own) {
    const key = `${victim.keeps} ${victim.ground ?? ""} ${victim.migrates ?? ""}`;
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { victim, count: 1 });
    else known.count += 1;
  }
  const sentences = [...counts.values()].map(({ victim: { keeps, ground, migrates }, count }) => {
    const what = keeps === 0 ? "evicted" : `shrunk to ${plural(keeps, "worker")}`;
    const who = count === 1 ? "It" : `${count} of its attempts`;
    if (migrates === true && keeps === 0)
      return `${who} ${count === 1 ? "migrates" : "migrate"} for workload ${workloadId}.`;
    const be = count === 1 ? "is" : "are";
    return `${who} ${be} ${what} for workload ${workloadId}${ground === undefined ? "" : ` ${victimGrounds[ground]}`}: ${stopReasonText[reason]}.`;
  });
  const teams = new Set(own.map(({ team }) => team));
  const ofTeams = victims.filter(({ team }) => teams.has(team));
  return [...sentences, teamSharesSentence(ofTeams, preemptor)].join(" ");
}

const VICTIMS_NAMED = 4;

function namedVictims(victims: readonly PlannedVictim[]): string {
  const named = victims.slice(0, VICTIMS_NAMED).map(victimText).join(", ");
  return victims.length > VICTIMS_NAMED ? `${named} and ${victims.length - VICTIMS_NAMED} more` : named;
}

function victimText({ attemptId, keeps, ground, migrates }: PlannedVictim): string {
  const leaves = `attempt ${attemptId} ${migrates === true ? "migrates" : "is stopped"}`;
  const what = keeps === 0 ? leaves : `attempt ${attemptId} keeps ${plural(keeps, "worker")}`;
  return ground === undefined ? what : `${what} ${victimGrounds[ground]}`;
}

interface Share {
  readonly milli: number;
  /** Sum over several victims. It is approximate, because the effect of each was recorded separately. */
  readonly isSum: boolean;
}

interface Drop {
  readonly victim: PlannedVictim;
  readonly before: Share;
  readonly after: Share;
}

/** Shares of teams after earlier victims of the plan. */
type Reached = Map<string, Share>;

/** A victim's recorded effect, added to its team's share after earlier victims. */
function stepOf(reached: Reached, team: string, [fromMilli, toMilli]: readonly [number, number]): Omit<Drop, "victim"> {
  const known = reached.get(team);
  const before = known ?? { milli: fromMilli, isSum: false };
  const after =
    fromMilli === toMilli
      ? before
      : { milli: Math.max(0, before.milli + toMilli - fromMilli), isSum: known !== undefined };
  reached.set(team, after);
  return { before, after };
}

/** The share of each victim's team without and with the eviction, after earlier victims of the same team. */
const dropsOf = (victims: readonly PlannedVictim[], reached: Reached): Drop[] =>
  victims.map((victim) => {
    const { team, teamShareBeforeMilli, teamShareAfterMilli } = victim;
    return { victim, ...stepOf(reached, team, [teamShareBeforeMilli, teamShareAfterMilli]) };
  });

/** Each team once; the preemptor's team comes last. */
function teamSharesSentence(victims: readonly PlannedVictim[], preemptor: Planned["preemptor"]): string {
  const reached: Reached = new Map();
  const beforeOf = new Map<string, Share>();
  for (const { victim, before } of dropsOf(victims, reached))
    if (!beforeOf.has(victim.team)) beforeOf.set(victim.team, before);
  if (preemptor !== undefined) {
    const { team, shareBeforeMilli, shareAfterMilli } = preemptor;
    const { before } = stepOf(reached, team, [shareBeforeMilli, shareAfterMilli]);
    if (!beforeOf.has(team)) beforeOf.set(team, before);
  }
  const part = ([team, { milli }]: [string, Share]): string =>
    teamShareText(team, milli, aboutText(reached.get(team) as Share));
  return [...beforeOf].map(part).join(" ");
}

const aboutText = ({ milli, isSum }: Share): string => `${isSum ? "about " : ""}${shareText(milli)}`;

const teamShareText = (team: string, beforeMilli: number, after: string): string =>
  beforeMilli > SHARE_SHOWN_MILLI_MAX
    ? `Team ${team} uses capacity without an entitlement to it.`
    : `Team ${team} goes from ${shareText(beforeMilli)} to ${after} of its entitlement.`;

export interface TeamShareChange {
  readonly side: "gives" | "gets";
  readonly team: string;
  /** The victim or the preemptor of the row. */
  readonly who: string;
  readonly ground: string;
  /** Parts of the team's entitlement, without and with the plan. */
  readonly before: string;
  readonly after: string;
}

/**
 * Both sides of a plan: a row for each victim and one for the preemptor. Defragmentation has no preemptor. Rows of the
 * same team continue each other: the last one ends at the share that the sentence states for the team.
 */
export function teamSharesOf({ workloadId, reason, victims, preemptor }: EvictionPlan): TeamShareChange[] {
  const reached: Reached = new Map();
  const gives = dropsOf(victims, reached).map(
    ({ victim: { attemptId, team, keeps, ground, migrates }, before, after }): TeamShareChange => ({
      side: "gives",
      team,
      who:
        keeps === 0
          ? `${attemptId}${migrates === true ? ", migrates" : ""}`
          : `${attemptId}, keeps ${plural(keeps, "worker")}`,
      ground: ground === undefined ? "" : victimGrounds[ground],
      before: entitlementText(before),
      after: entitlementText(after),
    }),
  );
  if (preemptor === undefined) return gives;
  const { team, shareBeforeMilli, shareAfterMilli } = preemptor;
  const { before, after } = stepOf(reached, team, [shareBeforeMilli, shareAfterMilli]);
  const gets = { side: "gets", team, who: workloadId, ground: planGrounds[reason] } as const;
  return [...gives, { ...gets, before: entitlementText(before), after: entitlementText(after) }];
}

const entitlementText = (share: Share): string =>
  share.milli > SHARE_SHOWN_MILLI_MAX ? "no entitlement" : aboutText(share);
