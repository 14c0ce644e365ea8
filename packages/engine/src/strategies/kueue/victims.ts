/**
 * Parts that both of Kueue's victim searches use: the request, the eligible victims and their grounds, and the removal
 * of needless victims. A search changes the quota tree and restores it exactly.
 */
import { invariant } from "@headroom/model";
import type { Share } from "../../quota/share.ts";
import type { QuotaTree } from "../../quota/tree.ts";
import { minimise } from "../../preemption/minimise.ts";
import type { Search } from "../../preemption/strategy.ts";

/** Running work that could be evicted. `Candidate` is the caller's own data; the search reads only these fields. */
export interface QuotaVictimCandidate {
  readonly priority: number;
  readonly submittedAtMs: number;
  /** Amounts by resource, in the order of the quota tree that counts them. */
  readonly amounts: readonly number[];
}

/** A blocked request that may preempt. */
export interface Incoming {
  /** Index of the team, a leaf of the quota tree. */
  readonly team: number;
  readonly priority: number;
  readonly submittedAtMs: number;
  readonly amounts: readonly number[];
  /** Resources that the request lacks. Only work that holds one of them is a useful victim. */
  readonly needed: readonly number[];
}

export interface PreemptionRights {
  /**
   * Rule for victims in the preemptor's own team. `lowerOrNewerEqual` also allows work of equal priority that was
   * submitted later.
   */
  readonly within: "never" | "lowerPriority" | "lowerOrNewerEqual";
  /** Rule for victims in other teams that hold more than their guarantee. */
  readonly reclaim: "never" | "lowerPriority" | "any";
  /**
   * Allows victims of lower priority in other teams while the preemptor's team borrows. Their priority must be at most
   * `priorityMax`, if it is stated. If absent, such victims are not allowed.
   */
  readonly whileBorrowing?: { readonly priorityMax?: number };
}

export interface VictimSearch<Candidate extends QuotaVictimCandidate> {
  readonly tree: QuotaTree;
  readonly incoming: Incoming;
  readonly rights: PreemptionRights;
  /** Eligible victims of a team (a leaf), in eviction order. Called only for teams from which work may be taken. */
  candidatesOf(team: number): readonly Candidate[];
  /** Compares two candidates by the order of eviction. The order is total, and `candidatesOf` is sorted by it. */
  order(left: Candidate, right: Candidate): number;
  /** Returns whether the preemptor has a placement without the victims. Called only when the quotas allow it. */
  fits(victims: readonly QuotaChoice<Candidate>[]): boolean;
}

/** Reason of an eviction. */
export type VictimReason =
  /** Preemptor and victim belong to one team, and the team's own rule allows the eviction. */
  | { readonly kind: "withinTeam" }
  /** The preemptor stays inside a guarantee of its team or its side of the quota tree. The victim does not. */
  | { readonly kind: "reclaimGuarantee" }
  /**
   * Both sides borrow. The shares are those of the two branches just below the lowest common ancestor of both teams.
   */
  | {
      readonly kind: "reclaimShare";
      readonly incomingShare: Share;
      readonly holderShareBefore: Share;
      readonly holderShareAfter: Share;
    }
  /** The preemptor's team borrows, and its rule allows the eviction of work of this priority. */
  | { readonly kind: "reclaimWhileBorrowing" };

export interface QuotaChoice<Candidate extends QuotaVictimCandidate> {
  readonly candidate: Candidate;
  readonly team: number;
  readonly reason: VictimReason;
}

export type Borrowing = "mayBorrow" | "withinGuarantee";

/**
 * The candidates of one team that hold a needed resource and are eligible by the rule. They are read lazily, because
 * most searches end after a few of many thousands.
 */
export class TeamCandidates<Candidate extends QuotaVictimCandidate> {
  readonly team: number;
  readonly #search: VictimSearch<Candidate>;
  readonly #listed: readonly Candidate[];
  #position = -1;

  constructor(search: VictimSearch<Candidate>, team: number) {
    this.team = team;
    this.#search = search;
    const rule = team === search.incoming.team ? search.rights.within : search.rights.reclaim;
    this.#listed = rule === "never" ? [] : search.candidatesOf(team);
    this.#advance();
  }

  head(): Candidate | undefined {
    return this.#listed[this.#position];
  }

  /** Takes the first candidate; there must be one. */
  pop(): Candidate {
    const candidate = this.#listed[this.#position];
    invariant(candidate !== undefined, `team ${this.team} has no candidate left`);
    this.#advance();
    return candidate;
  }

  #advance(): void {
    do this.#position++;
    while (this.#position < this.#listed.length && !this.#isTakeable(this.#listed[this.#position] as Candidate));
  }

  #isTakeable(candidate: Candidate): boolean {
    const { incoming, rights } = this.#search;
    const rule = this.team === incoming.team ? rights.within : rights.reclaim;
    if (!holdsAnyOf(candidate.amounts, incoming.needed)) return false;
    if (rule === "any" || candidate.priority < incoming.priority) return true;
    if (rule === "lowerPriority" || candidate.priority > incoming.priority) return false;
    return incoming.submittedAtMs < candidate.submittedAtMs;
  }
}

function holdsAnyOf(amounts: readonly number[], resources: readonly number[]): boolean {
  for (const resource of resources) if ((amounts[resource] as number) > 0) return true;
  return false;
}

/** The resources that the incoming work requests. */
export function askedFor(incoming: Incoming): readonly number[] {
  return incoming.amounts.flatMap((amount, resource) => (amount > 0 ? [resource] : []));
}

/** Returns whether the quotas allow the preemptor now, with the victims removed from the tree. */
export function hasQuota<Candidate extends QuotaVictimCandidate>(
  { tree, incoming }: VictimSearch<Candidate>,
  borrowing: Borrowing,
): boolean {
  const mayStart =
    borrowing === "mayBorrow" || tree.isWithinQuotaWith(incoming.team, incoming.amounts, askedFor(incoming));
  return mayStart && tree.hasRoomFor(incoming.team, incoming.amounts);
}

/**
 * Victims after whose eviction the quotas allow the preemptor. They are removed from the tree. The search that removed
 * them restores them.
 */
export interface QuotaAttempt<Candidate extends QuotaVictimCandidate> {
  readonly victims: QuotaChoice<Candidate>[];
  readonly borrowing: Borrowing;
}

export type QuotaSearch<Candidate extends QuotaVictimCandidate> = Search<
  QuotaAttempt<Candidate>,
  QuotaAttempt<Candidate>,
  readonly QuotaChoice<Candidate>[]
>;

/**
 * The search over the sets of victims that a rule proposes. From the last victim but one to the first, each victim is
 * spared if the preemptor still fits. The last victim is always needed. More victims never make the fit worse, so no
 * victim of the result can be spared. If the preemptor must stay inside its guarantee, this is checked too.
 */
export const quotaSearch = <Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
  candidates: Iterable<QuotaAttempt<Candidate>>,
): QuotaSearch<Candidate> => ({
  candidates,
  simulate: (attempt) => (search.fits(attempt.victims) ? attempt : null),
  minimise: ({ victims, borrowing }) => {
    const { tree } = search;
    const { needed } = minimise(victims, true, {
      order: victims.slice(0, -1).toReversed(),
      without: ({ team, candidate: { amounts } }, rest) => {
        tree.add(team, amounts);
        if (hasQuota(search, borrowing) && search.fits(rest())) return true;
        tree.remove(team, amounts);
        return null;
      },
    });
    victims.splice(0, victims.length, ...needed);
    return needed;
  },
});

/** Ends a search by restoring its victims in the tree. */
export function restore<Candidate extends QuotaVictimCandidate>(
  tree: QuotaTree,
  victims: readonly QuotaChoice<Candidate>[],
): void {
  for (const victim of victims) tree.add(victim.team, victim.candidate.amounts);
}

export function assertLeaf(tree: QuotaTree, team: number): void {
  invariant(tree.childrenOf(team).length === 0, `node ${team} of the quota tree holds work and has children`);
}
