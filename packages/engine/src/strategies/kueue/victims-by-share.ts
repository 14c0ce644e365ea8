/**
 * Victims by fair share (Kueue fair sharing). A request within its own guarantee reclaims from borrowing teams. Beyond
 * the guarantee, the subtrees of preemptor and victim are compared at their lowest common ancestor, and the subtree
 * further beyond its guarantee loses work, unless that would only reverse the roles. Shares are computed again after
 * every victim.
 */
import type { SortedQueue } from "./merged.ts";
import { compareShares, type Share } from "../../quota/share.ts";
import {
  assertLeaf,
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

/**
 * Condition under which the preemptor's side may evict work of another side. The share of the preemptor's side includes
 * the preemptor. `atMostFinal`: this share is at most the other side's share after the loss. `belowInitial`: this share
 * is smaller than the other side's share before the loss. That allows one large victim where no smaller one suffices.
 */
export type ShareRule = "atMostFinal" | "belowInitial";

export interface ShareRules {
  readonly first: ShareRule;
  /**
   * The rule that is tried afterwards on the candidates that the first rule spared, with one victim per team. It is
   * `null` if there is no second rule.
   */
  readonly second: "belowInitial" | null;
}

/**
 * Victims by fair share. The reason of an eviction is `reclaimGuarantee` if the preemptor is within its guarantee,
 * `withinTeam` for work of its own team, and `reclaimShare` in all other cases.
 */
export const victimsByShare = <Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
  rules: ShareRules,
): QuotaSearch<Candidate> => quotaSearch(search, attemptsByShare(search, rules));

function* attemptsByShare<Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
  rules: ShareRules,
): Generator<QuotaAttempt<Candidate>> {
  const { tree, incoming } = search;
  assertLeaf(tree, incoming.team);
  const teams = collect(search);
  if (teams.length === 0) return;
  const round = new ShareRound(search, teams);
  tree.add(incoming.team, incoming.amounts);
  try {
    yield* round.takeByFirstRule(rules.first);
    if (rules.second !== null) yield* round.takeByInitialShare();
  } finally {
    tree.remove(incoming.team, incoming.amounts);
    restore(tree, round.victims);
  }
}

/**
 * Possible victims: work of the preemptor's own team by its rule, and work of other teams in the same tree that borrow
 * a requested resource.
 */
function collect<Candidate extends QuotaVictimCandidate>(
  search: VictimSearch<Candidate>,
): readonly TeamCandidates<Candidate>[] {
  const { tree, incoming, rights } = search;
  const own = new TeamCandidates(search, incoming.team);
  const found = own.head() === undefined ? [] : [own];
  const visit = (node: number): void => {
    const children = tree.childrenOf(node);
    for (const child of children) visit(child);
    if (children.length > 0 || node === incoming.team || !tree.isBeyondQuotaIn(node, incoming.needed)) return;
    const candidates = new TeamCandidates(search, node);
    if (candidates.head() !== undefined) found.push(candidates);
  };
  if (rights.reclaim !== "never") visit(tree.rootOf(incoming.team));
  return found;
}

/** The candidates of a team in a pass: all eligible ones, or the ones that the first rule spared. */
interface VictimQueue<Candidate> extends SortedQueue<Candidate> {
  readonly team: number;
}

class SparedCandidates<Candidate> implements VictimQueue<Candidate> {
  readonly team: number;
  readonly list: Candidate[] = [];
  #position = 0;

  constructor(team: number) {
    this.team = team;
  }

  head(): Candidate | undefined {
    return this.list[this.#position];
  }

  pop(): Candidate {
    return this.list[this.#position++] as Candidate;
  }
}

/** One pass over the tree; `next` finds the next team that loses work. */
class ShareOrder<Candidate extends QuotaVictimCandidate> {
  readonly #search: VictimSearch<Candidate>;
  readonly #queues: Map<number, VictimQueue<Candidate>>;
  /**
   * Child nodes with remaining candidates, by parent node, in ascending order. A node without such children is not
   * listed.
   */
  readonly #open = new Map<number, number[]>();
  readonly #incomingPath: ReadonlySet<number>;
  readonly #start: number;
  /** Shares as last computed; a victim changes only the shares of its own ancestors. */
  readonly #shares = new Map<number, Share>();

  constructor(search: VictimSearch<Candidate>, queues: Iterable<VictimQueue<Candidate>>) {
    this.#search = search;
    this.#queues = new Map([...queues].map((queue) => [queue.team, queue]));
    const { tree, incoming } = search;
    this.#start = tree.rootOf(incoming.team);
    this.#incomingPath = new Set(pathToRoot(search, incoming.team));
    for (const team of this.#queues.keys()) {
      for (
        let child = team, parent = tree.parentOf(team);
        parent >= 0;
        child = parent, parent = tree.parentOf(parent)
      ) {
        const open = this.#open.get(parent);
        if (open === undefined) this.#open.set(parent, [child]);
        else if (!open.includes(child)) open.push(child);
        else break;
      }
    }
    for (const open of this.#open.values()) open.sort((left, right) => left - right);
  }

  head(team: number): Candidate | undefined {
    return this.#queues.get(team)?.head();
  }

  pop(team: number): Candidate {
    return (this.#queues.get(team) as VictimQueue<Candidate>).pop();
  }

  /** Records an eviction from the team. */
  noteTaken(team: number): void {
    for (const node of pathToRoot(this.#search, team)) this.#shares.delete(node);
  }

  /** Removes the team from the pass. */
  drop(team: number): void {
    this.#queues.delete(team);
  }

  /** The next team, found by descending to the largest share; -1 when no candidates are left. */
  next(): number {
    const { tree } = this.#search;
    let node = this.#start;
    while (tree.childrenOf(node).length > 0) {
      const child = this.#largestChild(node);
      if (child >= 0) {
        node = child;
      } else {
        // This node has no candidates left: it is removed, and the descent restarts.
        this.#open.delete(node);
        if (node === this.#start) return -1;
        node = this.#start;
      }
    }
    return this.head(node) === undefined ? -1 : node;
  }

  /**
   * The child with the largest share. Children without candidates are removed first. So are children that no longer
   * borrow a requested resource, except on the preemptor's side. If shares are equal, a subtree goes before a team.
   * Among teams, the one whose next candidate goes first is chosen, and the preemptor's own team last. Among subtrees,
   * the first is chosen.
   */
  #largestChild(node: number): number {
    const { tree, incoming } = this.#search;
    const open = this.#open.get(node);
    if (open === undefined) return -1;
    let team = -1;
    let teamShare: Share | null = null;
    let branch = -1;
    let branchShare: Share | null = null;
    let count = 0;
    for (const child of open) {
      const isTeam = tree.childrenOf(child).length === 0;
      if (isTeam ? this.head(child) === undefined : !this.#open.has(child)) continue;
      if (!this.#incomingPath.has(child) && !tree.isBeyondQuotaIn(child, incoming.needed)) continue;
      const share = this.#shareOf(child);
      open[count++] = child;
      if (!isTeam) {
        if (branchShare !== null && compareShares(share, branchShare) <= 0) continue;
        branch = child;
        branchShare = share;
      } else {
        const difference = teamShare === null ? 1 : compareShares(share, teamShare);
        const goesFirst = difference > 0 || (difference === 0 && this.#goesFirst(child, team, incoming.team));
        if (!goesFirst) continue;
        team = child;
        teamShare = share;
      }
    }
    open.length = count;
    if (branchShare === null) return team;
    return teamShare === null || compareShares(branchShare, teamShare) >= 0 ? branch : team;
  }

  #shareOf(node: number): Share {
    let share = this.#shares.get(node);
    if (share === undefined) {
      share = this.#search.tree.shareOf(node);
      this.#shares.set(node, share);
    }
    return share;
  }

  #goesFirst(left: number, right: number, own: number): boolean {
    if (left === own || right === own) return right === own;
    return this.#search.order(this.head(left) as Candidate, this.head(right) as Candidate) < 0;
  }
}

class ShareRound<Candidate extends QuotaVictimCandidate> {
  readonly victims: QuotaChoice<Candidate>[] = [];
  readonly #search: VictimSearch<Candidate>;
  readonly #teams: readonly TeamCandidates<Candidate>[];
  readonly #spared = new Map<number, SparedCandidates<Candidate>>();

  constructor(search: VictimSearch<Candidate>, teams: readonly TeamCandidates<Candidate>[]) {
    this.#search = search;
    this.#teams = teams;
  }

  /** Evicts work of the preemptor's own team by its rule, and work of other teams by guarantee or by the share rule. */
  *takeByFirstRule(rule: ShareRule): Generator<QuotaAttempt<Candidate>> {
    const { tree, incoming } = this.#search;
    const order = new ShareOrder(this.#search, this.#teams);
    const isGuaranteed = !tree.isBeyondQuotaIn(incoming.team, incoming.needed);
    for (let team = order.next(); team >= 0; team = order.next()) {
      if (team === incoming.team) {
        yield* this.#take(order, team, { candidate: order.pop(team), reason: { kind: "withinTeam" } });
      } else if (isGuaranteed) {
        yield* this.#take(order, team, { candidate: order.pop(team), reason: { kind: "reclaimGuarantee" } });
      } else {
        yield* this.#takeFirstThatPasses(order, team, rule);
      }
    }
  }

  /**
   * Evicts by the second rule, from candidates that the first rule spared. Each team loses at most one victim, and its
   * share before the loss counts.
   */
  *takeByInitialShare(): Generator<QuotaAttempt<Candidate>> {
    const order = new ShareOrder<Candidate>(this.#search, this.#spared.values());
    for (let team = order.next(); team >= 0; team = order.next()) {
      const sides = this.#sidesOf(team);
      const candidate = order.pop(team);
      order.drop(team);
      if (compareShares(sides.incomingShare, sides.holderShareBefore) >= 0) continue;
      yield* this.#take(order, team, { candidate, reason: this.#shareReason(sides, candidate, team) });
    }
  }

  *#takeFirstThatPasses(
    order: ShareOrder<Candidate>,
    team: number,
    rule: ShareRule,
  ): Generator<QuotaAttempt<Candidate>> {
    const sides = this.#sidesOf(team);
    while (order.head(team) !== undefined) {
      const candidate = order.pop(team);
      const reason = this.#shareReason(sides, candidate, team);
      const isAllowed =
        rule === "atMostFinal"
          ? compareShares(sides.incomingShare, reason.holderShareAfter) <= 0
          : compareShares(sides.incomingShare, sides.holderShareBefore) < 0;
      if (isAllowed) return yield* this.#take(order, team, { candidate, reason });
      this.#spare(candidate, team);
    }
  }

  #spare(candidate: Candidate, team: number): void {
    let spared = this.#spared.get(team);
    if (spared === undefined) {
      spared = new SparedCandidates(team);
      this.#spared.set(team, spared);
    }
    spared.list.push(candidate);
  }

  /** Takes a victim out of the tree; yields all victims if the quotas now allow the incoming work. */
  *#take(
    order: ShareOrder<Candidate>,
    team: number,
    taken: Omit<QuotaChoice<Candidate>, "team">,
  ): Generator<QuotaAttempt<Candidate>> {
    const { tree, incoming } = this.#search;
    tree.remove(team, taken.candidate.amounts);
    order.noteTaken(team);
    this.victims.push({ ...taken, team });
    tree.remove(incoming.team, incoming.amounts);
    try {
      if (hasQuota(this.#search, "mayBorrow")) yield { victims: this.victims, borrowing: "mayBorrow" };
    } finally {
      tree.add(incoming.team, incoming.amounts);
    }
  }

  /** The two branches just below the lowest common ancestor, with their shares before the next eviction. */
  #sidesOf(team: number): FairSharingSides {
    const { tree, incoming } = this.#search;
    const above = new Map<number, number>();
    for (let at = incoming.team, below = at; at >= 0; below = at, at = tree.parentOf(at)) above.set(at, below);
    let holder = team;
    while (!above.has(tree.parentOf(holder))) holder = tree.parentOf(holder);
    const own = above.get(tree.parentOf(holder)) as number;
    return { holder, incomingShare: tree.shareOf(own), holderShareBefore: tree.shareOf(holder) };
  }

  #shareReason(
    sides: FairSharingSides,
    candidate: Candidate,
    team: number,
  ): Extract<VictimReason, { kind: "reclaimShare" }> {
    const { tree } = this.#search;
    tree.remove(team, candidate.amounts);
    const holderShareAfter = tree.shareOf(sides.holder);
    tree.add(team, candidate.amounts);
    const { incomingShare, holderShareBefore } = sides;
    return { kind: "reclaimShare", incomingShare, holderShareBefore, holderShareAfter };
  }
}

interface FairSharingSides {
  readonly holder: number;
  readonly incomingShare: Share;
  readonly holderShareBefore: Share;
}

function pathToRoot<Candidate extends QuotaVictimCandidate>(search: VictimSearch<Candidate>, team: number): number[] {
  const path: number[] = [];
  for (let at = team; at >= 0; at = search.tree.parentOf(at)) path.push(at);
  return path;
}
