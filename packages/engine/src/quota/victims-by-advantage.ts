/**
 * Victims by advantage in the tree: who stays inside the quota of its own part of the tree may take that quota back from
 * whoever uses it from further away, whatever the priorities; elsewhere priority decides, and whether the incoming work's
 * team may take while it borrows itself. Weights and shares do not matter here.
 */
import {
  askedFor,
  assertLeaf,
  type Borrowing,
  giveBack,
  hasRoom,
  restore,
  takeable,
  type Victim,
  type VictimCandidate,
  type VictimReason,
  type VictimSearch,
} from "./victims.ts";

type AdvantageReason = Exclude<VictimReason, { kind: "reclaimShare" }>;

interface RankedCandidate<Candidate extends VictimCandidate> {
  readonly candidate: Candidate;
  readonly team: number;
  /** The lowest team above both the candidate and the incoming work; -1 in the own team. */
  readonly meetingPoint: number;
  readonly reason: AdvantageReason;
  /** Whether it may only be taken for work that ends inside its own team's guarantee. */
  readonly isOnlyForGuarantee: boolean;
}

interface Ranking<Candidate extends VictimCandidate> {
  readonly byAdvantage: RankedCandidate<Candidate>[];
  readonly byPriority: RankedCandidate<Candidate>[];
  readonly own: RankedCandidate<Candidate>[];
}

/** The smallest list of victims found, the first to go first; null where nothing that may be taken makes room. */
export function victimsByAdvantage<Candidate extends VictimCandidate>(
  search: VictimSearch<Candidate>,
): readonly Victim<Candidate>[] | null {
  assertLeaf(search.tree, search.incoming.team);
  const ranking = rank(search);
  const list = [...ranking.byAdvantage, ...ranking.byPriority, ...ranking.own];
  for (const borrowing of runsOf(search, ranking)) {
    const victims = takeInOrder(search, list, borrowing);
    if (victims !== null) return victims;
  }
  return null;
}

/** In which order it is tried with and without borrowing. */
function runsOf<Candidate extends VictimCandidate>(
  search: VictimSearch<Candidate>,
  ranking: Ranking<Candidate>,
): readonly Borrowing[] {
  const { tree, incoming, rights } = search;
  const hasOthers = ranking.byAdvantage.length + ranking.byPriority.length > 0;
  if (!hasOthers) return ["mayBorrow"];
  if (rights.whileBorrowing !== undefined) return ["mayBorrow", "withinGuarantee"];
  const isBelowGuarantee = incoming.needed.every(
    (resource) => tree.usage(incoming.team, resource) < tree.guarantee(incoming.team, resource),
  );
  if (!isBelowGuarantee) return ["mayBorrow"];
  return ranking.byAdvantage.length === 0 ? ["withinGuarantee", "mayBorrow"] : ["mayBorrow", "withinGuarantee"];
}

/**
 * Everything that may be taken, by right. From the team up to the top, what is below each ancestor and was not below the
 * one before: once the incoming work fits into the quota of a part of the tree that was passed, it has the advantage over
 * all that lies outside of that part. What each level still has for itself is taken off the amounts on the way.
 */
function rank<Candidate extends VictimCandidate>(search: VictimSearch<Candidate>): Ranking<Candidate> {
  const { tree, incoming, rights } = search;
  const ranking: Ranking<Candidate> = { byAdvantage: [], byPriority: [], own: [] };
  for (const candidate of takeable(search, incoming.team)) {
    const reason = { kind: "withinTeam" } as const;
    ranking.own.push({ candidate, team: incoming.team, meetingPoint: -1, reason, isOnlyForGuarantee: false });
  }
  if (rights.reclaim !== "never") {
    const asked = askedFor(incoming);
    const remaining = [...incoming.amounts];
    let hasAdvantage = tree.isWithinQuotaWith(incoming.team, remaining, asked);
    takeOffLocal(search, incoming.team, remaining);
    let done = incoming.team;
    for (let at = tree.parentOf(incoming.team); at >= 0; done = at, at = tree.parentOf(at)) {
      for (const team of borrowersBelow(search, at, done)) {
        for (const candidate of takeable(search, team)) {
          const list = hasAdvantage ? ranking.byAdvantage : ranking.byPriority;
          list.push(rankOther(search, { candidate, team, meetingPoint: at }, hasAdvantage));
        }
      }
      hasAdvantage ||= tree.isWithinQuotaWith(at, remaining, asked);
      takeOffLocal(search, at, remaining);
    }
  }
  const order = (left: RankedCandidate<Candidate>, right: RankedCandidate<Candidate>): number =>
    search.order(left.candidate, right.candidate);
  for (const list of [ranking.byAdvantage, ranking.byPriority, ranking.own]) list.sort(order);
  return ranking;
}

function rankOther<Candidate extends VictimCandidate>(
  search: VictimSearch<Candidate>,
  found: Pick<RankedCandidate<Candidate>, "candidate" | "team" | "meetingPoint">,
  hasAdvantage: boolean,
): RankedCandidate<Candidate> {
  const { incoming, rights } = search;
  if (hasAdvantage) return { ...found, reason: { kind: "reclaimGuarantee" }, isOnlyForGuarantee: false };
  const { priority } = found.candidate;
  const priorityMax = rights.whileBorrowing?.priorityMax ?? Number.MAX_SAFE_INTEGER;
  const isAllowed = rights.whileBorrowing !== undefined && priority < incoming.priority && priority <= priorityMax;
  return isAllowed
    ? { ...found, reason: { kind: "reclaimWhileBorrowing" }, isOnlyForGuarantee: false }
    : { ...found, reason: { kind: "reclaimGuarantee" }, isOnlyForGuarantee: true };
}

function takeOffLocal<Candidate extends VictimCandidate>(
  search: VictimSearch<Candidate>,
  node: number,
  remaining: number[],
): void {
  for (const [resource, amount] of remaining.entries()) {
    remaining[resource] = Math.max(0, amount - search.tree.localAvailable(node, resource));
  }
}

/** The teams below a node that are beyond their quota in something needed, as is every node between; one child is skipped. */
function borrowersBelow<Candidate extends VictimCandidate>(
  search: VictimSearch<Candidate>,
  node: number,
  skipped: number,
): readonly number[] {
  const { tree, incoming } = search;
  return tree.childrenOf(node).flatMap((child) => {
    if (child === skipped || !tree.isBeyondQuotaIn(child, incoming.needed)) return [];
    return tree.childrenOf(child).length === 0 ? [child] : borrowersBelow(search, child, skipped);
  });
}

/** Takes what may be taken, in order, until there is room; then gives back what was not needed. The tree ends as it was. */
function takeInOrder<Candidate extends VictimCandidate>(
  search: VictimSearch<Candidate>,
  list: readonly RankedCandidate<Candidate>[],
  borrowing: Borrowing,
): readonly Victim<Candidate>[] | null {
  const { tree } = search;
  const taken: Victim<Candidate>[] = [];
  for (const each of list) {
    if (!mayBeTakenNow(search, each, borrowing)) continue;
    const { candidate, team, reason } = each;
    tree.remove(team, candidate.amounts);
    taken.push({ candidate, team, reason });
    if (!hasRoom(search, taken, borrowing)) continue;
    const victims = giveBack(search, taken, borrowing);
    restore(tree, victims);
    return victims;
  }
  restore(tree, taken);
  return null;
}

/** What was taken before may have brought a team, or a branch, back inside its quota: that one gives no more. */
function mayBeTakenNow<Candidate extends VictimCandidate>(
  search: VictimSearch<Candidate>,
  ranked: RankedCandidate<Candidate>,
  borrowing: Borrowing,
): boolean {
  const { tree, incoming } = search;
  if (ranked.meetingPoint < 0) return true;
  if (borrowing === "mayBorrow" && ranked.isOnlyForGuarantee) return false;
  for (let at = ranked.team; at !== ranked.meetingPoint; at = tree.parentOf(at)) {
    if (!tree.isBeyondQuotaIn(at, incoming.needed)) return false;
  }
  return true;
}
