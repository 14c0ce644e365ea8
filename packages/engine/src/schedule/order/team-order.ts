/**
 * Teams take turns: from the top of the tree down the sibling that stands lowest goes next, each seen with the best request
 * of everything below it. A team's own work stands beside its children as one of them.
 */
import type { TeamOrderKey } from "../../policy/policy.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { Amount, TeamNode } from "../../state/team-use.ts";
import type { World } from "../../state/world.ts";
import { headOrder } from "./head-order.ts";
import type { CompareClasses } from "./head-order.ts";
import type { RoundOrder } from "./round-order.ts";
import { COMPARED, amountAt, claimOf, dominantShare, standingsOf } from "./standing.ts";
import type { Standing, Standings } from "./standing.ts";

/** A team with work in it that is to be looked at. */
interface Entry {
  readonly node: TeamNode;
  readonly parent: Entry | null;
  readonly classes: PlacementClass[];
  readonly children: Entry[];
  /** The best class of all below, own ones included; `null`: nothing is left. */
  best: PlacementClass | null;
}

export class TeamOrder implements RoundOrder {
  readonly #world: World;
  readonly #standings: Standings;
  readonly #compareHeads: CompareClasses;
  readonly #entries = new Map<TeamNode, Entry>();
  readonly #top: Entry[] = [];

  constructor(world: World, classes: readonly PlacementClass[]) {
    this.#world = world;
    this.#standings = standingsOf(world);
    this.#compareHeads = headOrder(world);
    for (const found of classes) this.#entry(world.teamUse.node(found.team)).classes.push(found);
    for (const entry of [...this.#entries.values()].toReversed()) if (entry.parent === null) this.#settle(entry);
  }

  #entry(node: TeamNode): Entry {
    const known = this.#entries.get(node);
    if (known !== undefined) return known;
    const parent = node.parent === null ? null : this.#entry(node.parent);
    const entry: Entry = { node, parent, classes: [], children: [], best: null };
    this.#entries.set(node, entry);
    (parent?.children ?? this.#top).push(entry);
    return entry;
  }

  /** Finds the best of an entry and of everything below it. */
  #settle(entry: Entry): void {
    for (const child of entry.children) this.#settle(child);
    this.#chooseBest(entry);
  }

  #chooseBest(entry: Entry): void {
    const own = this.#bestOwn(entry);
    const child = this.#bestEntry(entry.children);
    entry.best = child?.best ?? own;
    // Own work beside children: whoever comes first in the order of the queue, since both count for this team alike.
    if (own !== null && child?.best != null) entry.best = this.#compareHeads(own, child.best) < 0 ? own : child.best;
  }

  #bestOwn({ classes }: Entry): PlacementClass | null {
    let best: PlacementClass | null = null;
    for (const found of classes) if (best === null || this.#compareHeads(found, best) < 0) best = found;
    return best;
  }

  #bestEntry(entries: readonly Entry[]): Entry | null {
    let best: Entry | null = null;
    for (const entry of entries) {
      if (entry.best !== null && (best === null || this.#compareEntries(entry, best) < 0)) best = entry;
    }
    return best;
  }

  first(): PlacementClass | null {
    return this.#bestEntry(this.#top)?.best ?? null;
  }

  served(found: PlacementClass): void {
    if (found.waiting.length === 0 || found.isGrowth) this.drop(found);
    else this.#refresh(found);
  }

  drop(found: PlacementClass): void {
    const { classes } = this.#entry(this.#world.teamUse.node(found.team));
    const index = classes.indexOf(found);
    if (index >= 0) classes.splice(index, 1);
    this.#refresh(found);
  }

  /** What the team holds, or its best request, changed: so may the best of every team above it. */
  #refresh(found: PlacementClass): void {
    for (let at: Entry | null = this.#entry(this.#world.teamUse.node(found.team)); at !== null; at = at.parent)
      this.#chooseBest(at);
  }

  #compareEntries(left: Entry, right: Entry): number {
    const leftSeen = this.#seen(left);
    const rightSeen = this.#seen(right);
    for (const key of this.#world.rules.teams.order) {
      const difference = comparisons[key](leftSeen, rightSeen);
      if (difference !== 0) return difference;
    }
    return left.node.ordinal - right.node.ordinal;
  }

  #seen({ node, best }: Entry): Seen {
    const found = best as PlacementClass;
    return {
      standing: this.#standings.get(node) as Standing,
      request: this.#world.teamUse.amountOf(found.gang, found.workers, ""),
    };
  }
}

/** A team as it is seen with its best request. */
export interface Seen {
  readonly standing: Standing;
  readonly request: Amount;
}

type Compare = (left: Seen, right: Seen) => number;

/** Teams for which a statement is true go before (or behind) the others. */
const first = (holds: (seen: Seen) => boolean): Compare => (left, right) => Number(holds(right)) - Number(holds(left));
const last = (holds: (seen: Seen) => boolean): Compare => (left, right) => first(holds)(right, left);
const ascending = (value: (seen: Seen) => number): Compare => (left, right) => {
  const [leftValue, rightValue] = [value(left), value(right)];
  return leftValue < rightValue ? -1 : leftValue > rightValue ? 1 : 0;
};

const usedAt = ({ node }: Standing, position: number): number => node.used[position] ?? 0;
const weightOf = ({ node }: Standing): number => node.team.weight ?? 1;
const guaranteeAt = ({ node }: Standing, position: number): number =>
  node.guarantee[position] ?? (node.team.guarantee === undefined ? 0 : Number.POSITIVE_INFINITY);

export const comparisons: { readonly [Key in TeamOrderKey]: Compare } = {
  "above-share-last": last(({ standing }) =>
    COMPARED.every((position) => usedAt(standing, position) > (standing.fair[position] as number)),
  ),
  "within-guarantee": first(({ standing, request }) =>
    COMPARED.every((position) => usedAt(standing, position) + amountAt(request, position) <= guaranteeAt(standing, position)),
  ),
  priority: ascending(({ standing: { node } }) => -(node.team.priority ?? 0)),
  "without-claim-last": last(({ standing, request }) =>
    COMPARED.some(
      (position) => claimOf(standing, position) === 0 && usedAt(standing, position) + amountAt(request, position) > 0,
    ),
  ),
  "share-with": ascending(({ standing, request }) => dominantShare(standing, request)),
  share: ascending(({ standing }) => dominantShare(standing, null)),
  claim: ascending(({ standing }) => Math.max(...COMPARED.map((position) => claimOf(standing, position)))),
  "weighted-use": ascending(({ standing, request }) =>
    Math.max(
      ...COMPARED.map(
        (position) =>
          (usedAt(standing, position) + amountAt(request, position)) /
          Math.max(1, standing.total[position] as number) /
          weightOf(standing),
      ),
    ),
  ),
  "guarantee-ratio": ascending(({ standing }) =>
    Math.max(
      ...COMPARED.map((position) => {
        const guarantee = guaranteeAt(standing, position);
        return guarantee === 0 ? 0 : usedAt(standing, position) / guarantee;
      }),
    ),
  ),
  name: (left, right) =>
    left.standing.node.name < right.standing.node.name ? -1 : left.standing.node.name > right.standing.node.name ? 1 : 0,
};
