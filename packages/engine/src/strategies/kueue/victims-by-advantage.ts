/**
 * Victims by hierarchical advantage (Kueue classical preemption). A request within the quota of its own subtree may
 * reclaim this quota from borrowers outside the subtree, whatever their priorities. In other cases the priority
 * decides, and whether the preemptor's team may preempt while it borrows. Weights and shares do not matter.
 */
import { Merged } from "./merged.ts";
import {
  askedFor,
  assertLeaf,
  type Borrowing,
  hasQuota,
  quotaSearch,
  restore,
  TeamCandidates,
  type QuotaAttempt,
  type QuotaChoice,
  type QuotaSearch,
  type QuotaVictimCandidate,
  type VictimReason,
  type VictimSearch,
} from "./victims.ts";

/** Reason for which candidates of a team may be taken. */
type AdvantageGround = "byAdvantage" | "byPriority" | "ownTeam";

/** A team whose work may be evicted. */
interface Source {
  readonly team: number;
  /** The lowest common ancestor of this team and the preemptor's team; -1 if this team is the preemptor's team. */
  readonly meetingPoint: number;
  readonly ground: AdvantageGround;
}

export const victimsByAdvantage = <Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
): QuotaSearch<Candidate> => quotaSearch(search, attemptsByAdvantage(search));

function* attemptsByAdvantage<Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
): Generator<QuotaAttempt<Candidate>> {
  assertLeaf(search.tree, search.incoming.team);
  const sources = sourcesOf(search);
  if (sources.length === 0) return;
  for (const borrowing of runsOf(search, sources)) yield* takeInOrder(search, sources, borrowing);
}

/**
 * The runs of the search in order. In a run with `mayBorrow` the request may borrow, in one with `withinGuarantee` it
 * must not.
 */
function runsOf<Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
  sources: readonly Source[],
): readonly Borrowing[] {
  const { tree, incoming, rights } = search;
  if (sources.every((source) => source.ground === "ownTeam")) return ["mayBorrow"];
  if (rights.whileBorrowing !== undefined) return ["mayBorrow", "withinGuarantee"];
  const isBelowGuarantee = incoming.needed.every(
    (resource) => tree.usage(incoming.team, resource) < tree.guarantee(incoming.team, resource),
  );
  if (!isBelowGuarantee) return ["mayBorrow"];
  const hasAdvantage = sources.some((source) => source.ground === "byAdvantage");
  return hasAdvantage ? ["mayBorrow", "withinGuarantee"] : ["withinGuarantee", "mayBorrow"];
}

/**
 * All teams with eligible victims, each with its ground. The search walks from the preemptor's team to the root, and
 * each ancestor adds the teams below it that are new. Once the request fits the quota of a subtree, it has the
 * advantage over all teams outside this subtree. On the way, the available quota of each level is subtracted from the
 * request.
 */
function sourcesOf<Candidate extends QuotaVictimCandidate>(search: VictimSearch<Candidate>): readonly Source[] {
  const { tree, incoming, rights } = search;
  const sources: Source[] = [{ team: incoming.team, meetingPoint: -1, ground: "ownTeam" }];
  if (rights.reclaim !== "never") {
    const asked = askedFor(incoming);
    const remaining = [...incoming.amounts];
    let hasAdvantage = tree.isWithinQuotaWith(incoming.team, remaining, asked);
    takeOffLocal(search, incoming.team, remaining);
    let done = incoming.team;
    for (let at = tree.parentOf(incoming.team); at >= 0; done = at, at = tree.parentOf(at)) {
      const ground = hasAdvantage ? "byAdvantage" : "byPriority";
      for (const team of borrowersBelow(search, at, done)) sources.push({ team, meetingPoint: at, ground });
      hasAdvantage ||= tree.isWithinQuotaWith(at, remaining, asked);
      takeOffLocal(search, at, remaining);
    }
  }
  return sources.filter((source) => new TeamCandidates(search, source.team).head() !== undefined);
}

function takeOffLocal<Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
  node: number,
  remaining: number[],
): void {
  for (const [resource, amount] of remaining.entries()) {
    remaining[resource] = Math.max(0, amount - search.tree.localAvailable(node, resource));
  }
}

/**
 * Teams below a node that exceed their quota of a needed resource. Every node between must exceed its quota too. The
 * child `skipped` is left out.
 */
function borrowersBelow<Candidate extends QuotaVictimCandidate>(
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

/** Evicts candidates by advantage, then by priority, then from the preemptor's own team. The tree is left as it was. */
function* takeInOrder<Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
  sources: readonly Source[],
  borrowing: Borrowing,
): Generator<QuotaAttempt<Candidate>> {
  const { tree } = search;
  const sourceOf = new Map(sources.map((source) => [source.team, source]));
  const victims: QuotaChoice<Candidate>[] = [];
  try {
    for (const ground of ["byAdvantage", "byPriority", "ownTeam"] as const) {
      const teams = sources.filter((source) => source.ground === ground);
      const queues = teams.map((source) => new TeamCandidates(search, source.team));
      const merged = new Merged<Candidate, TeamCandidates<Candidate>>(queues, (left, right) =>
        search.order(left, right),
      );
      for (let next = merged.pop(); next !== undefined; next = merged.pop()) {
        const { item: candidate, queue } = next;
        const source = sourceOf.get(queue.team) as Source;
        const reason = reasonFor(search, source, candidate, borrowing);
        if (reason === null) continue;
        tree.remove(source.team, candidate.amounts);
        victims.push({ candidate, team: source.team, reason });
        if (hasQuota(search, borrowing)) yield { victims, borrowing };
      }
    }
  } finally {
    restore(tree, victims);
  }
}

/**
 * The reason why the candidate may be evicted now, or `null` if it may not. Earlier evictions may have brought its team
 * or subtree back within quota, so that it is no longer eligible.
 */
function reasonFor<Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
  source: Source,
  candidate: Candidate,
  borrowing: Borrowing,
): VictimReason | null {
  const { tree, incoming, rights } = search;
  if (source.ground === "ownTeam") return { kind: "withinTeam" };
  for (let at = source.team; at !== source.meetingPoint; at = tree.parentOf(at)) {
    if (!tree.isBeyondQuotaIn(at, incoming.needed)) return null;
  }
  if (source.ground === "byAdvantage") return { kind: "reclaimGuarantee" };
  const { priority } = candidate;
  const priorityMax = rights.whileBorrowing?.priorityMax ?? Number.MAX_SAFE_INTEGER;
  if (rights.whileBorrowing !== undefined && priority < incoming.priority && priority <= priorityMax) {
    return { kind: "reclaimWhileBorrowing" };
  }
  return borrowing === "withinGuarantee" ? { kind: "reclaimGuarantee" } : null;
}
