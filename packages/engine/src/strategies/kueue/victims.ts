/**
 * Parts of both victim searches: the request, eligible victims and grounds, and minimisation of the list. A search
 * changes the quota tree and restores it exactly.
 */
import { invariant } from "../../base/invariant.ts";
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
  /** Resources that the request lacks; only work that holds one of them is a useful victim. */
  readonly needed: readonly number[];
}

export interface PreemptionRights {
  /** Victims in the own team. `lowerOrNewerEqual` also includes work of equal priority that was submitted later. */
  readonly within: "never" | "lowerPriority" | "lowerOrNewerEqual";
  /** Victims in teams that hold more than their guarantee. */
  readonly reclaim: "never" | "lowerPriority" | "any";
  /** Victims of lower priority while the own team borrows, with a priority of at most `priorityMax`; absent: none. */
  readonly whileBorrowing?: { readonly priorityMax?: number };
}

export interface VictimSearch<Candidate extends QuotaVictimCandidate> {
  readonly tree: QuotaTree;
  readonly incoming: Incoming;
  readonly rights: PreemptionRights;
  /** Eligible victims of a team (a leaf), in eviction order. Called only for teams from which work may be taken. */
  candidatesOf(team: number): readonly Candidate[];
  /** The eviction order of two candidates; it is total, and `candidatesOf` is sorted by it. */
  order(left: Candidate, right: Candidate): number;
  /** Whether the incoming work has a placement without these victims. Called only when the quotas allow it. */
  fits(victims: readonly QuotaChoice<Candidate>[]): boolean;
}

/** Reason of an eviction. */
export type VictimReason =
  /** Both workloads belong to one team, and the team's own rule allows it. */
  | { readonly kind: "withinTeam" }
  /** The incoming work stays inside a guarantee of its team or its side of the tree; the victim does not. */
  | { readonly kind: "reclaimGuarantee" }
  /** Both sides borrow; the shares are those of the two branches just below their lowest common ancestor. */
  | {
      readonly kind: "reclaimShare";
      readonly incomingShare: Share;
      readonly holderShareBefore: Share;
      readonly holderShareAfter: Share;
    }
  /** The team of the incoming work borrows, and its rule allows evicting work of this priority. */
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

/** Whether the quotas allow the incoming work now, with the victims taken out of the tree. */
export function hasQuota<Candidate extends QuotaVictimCandidate>(
  { tree, incoming }: VictimSearch<Candidate>,
  borrowing: Borrowing,
): boolean {
  const mayStart =
    borrowing === "mayBorrow" || tree.isWithinQuotaWith(incoming.team, incoming.amounts, askedFor(incoming));
  return mayStart && tree.hasRoomFor(incoming.team, incoming.amounts);
}

/**
 * Victims without which the quotas allow the incoming work. They are removed from the tree; the rule that took them
 * restores them.
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
 * The search over the attempts of a rule. From the last victim but one to the first, it restores every victim without
 * which the work still fits. More victims never make the fit worse, so the list is minimal by inclusion. If the work
 * must stay inside its guarantee, that is a part of fitting.
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
