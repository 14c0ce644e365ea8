/**
 * Order in which teams are served. From the root of the quota tree down, the sibling with the lowest rank is next. The
 * rank of a team uses the best request of the team and the teams below it. A team's own work competes with the work of
 * its child teams.
 */
import type { TeamName, TeamOrderKey } from "@headroom/model";
import { amountCompared } from "../cluster/request.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";
import { OwnBuckets } from "./own-buckets.ts";
import type { CompareClasses } from "../cluster/head-order.ts";
import type { RoundOrder } from "./round-order.ts";
import { teamSharesOf } from "./team-share.ts";
import type { TeamShare, TeamShares } from "./team-share.ts";
import { RankedTeam } from "./team-comparison.ts";
import type { Seen } from "./team-comparison.ts";

/** A team with work that the round considers. */
interface Entry {
  readonly node: TeamNode;
  readonly parent: Entry | null;
  /** The order of the team's own buckets. */
  own: RoundOrder;
  readonly children: Entry[];
  /** The best bucket of the team and all teams below it, or `null` if no bucket is left. */
  best: QueueBucket | null;
  readonly ranked: RankedTeam;
}

export class TeamOrder implements RoundOrder {
  readonly #world: World;
  /**
   * Team shares, computed when two teams are compared for the first time; `null` until then. A single team needs no
   * shares.
   */
  #teamShares: TeamShares | null = null;
  readonly #keys: readonly TeamOrderKey[];
  readonly #compareHeads: CompareClasses;
  readonly #ownOrder: (team: TeamName) => RoundOrder;
  readonly #entries = new Map<TeamNode, Entry>();
  readonly #top: Entry[] = [];

  /** An order of the teams, in which `ownOrder` orders the buckets within a team. */
  constructor(
    world: World,
    teams: Iterable<TeamName>,
    {
      compareHeads,
      ownOrder,
    }: { readonly compareHeads: CompareClasses; readonly ownOrder: (team: TeamName) => RoundOrder },
  ) {
    this.#world = world;
    this.#keys = world.rules.teams.order;
    this.#compareHeads = compareHeads;
    this.#ownOrder = ownOrder;
    for (const team of teams) this.#entry(world.teamUse.node(team));
    for (const entry of [...this.#entries.values()].toReversed())
      if (entry.parent === null) this.#chooseFromBelow(entry);
  }

  /** An order of these buckets alone. */
  static ofBuckets(world: World, buckets: readonly QueueBucket[], compareHeads: CompareClasses): TeamOrder {
    const byTeam = Map.groupBy(buckets, ({ request }) => request.team);
    const ownOrder = (team: TeamName): RoundOrder => new OwnBuckets(byTeam.get(team) ?? [], compareHeads);
    return new TeamOrder(world, byTeam.keys(), { compareHeads, ownOrder });
  }

  #entry(node: TeamNode): Entry {
    const known = this.#entries.get(node);
    if (known !== undefined) return known;
    const parent = node.parent === null ? null : this.#entry(node.parent);
    const own = this.#ownOrder(node.name);
    const entry: Entry = { node, parent, own, children: [], best: null, ranked: new RankedTeam(this.#keys) };
    this.#entries.set(node, entry);
    (parent?.children ?? this.#top).push(entry);
    return entry;
  }

  /** Finds the best bucket of an entry and of all entries below it. */
  #chooseFromBelow(entry: Entry): void {
    for (const child of entry.children) this.#chooseFromBelow(child);
    this.#chooseBest(entry);
  }

  #chooseBest(entry: Entry): void {
    entry.ranked.forget();
    const own = entry.own.first();
    const child = this.#bestEntry(entry.children);
    entry.best = child?.best ?? own;
    // A team's own work and the work of its child teams are compared by queue order, because both count as usage of
    // this team.
    if (own !== null && child?.best != null) entry.best = this.#compareHeads(own, child.best) < 0 ? own : child.best;
  }

  #bestEntry(entries: readonly Entry[]): Entry | null {
    let best: Entry | null = null;
    for (const entry of entries) {
      if (entry.best !== null && (best === null || this.#compareEntries(entry, best) < 0)) best = entry;
    }
    return best;
  }

  first(): QueueBucket | null {
    return this.#bestEntry(this.#top)?.best ?? null;
  }

  served(bucket: QueueBucket): void {
    const entry = this.#entry(this.#world.teamUse.node(bucket.request.team));
    entry.own.served(bucket);
    this.#sortAgain(entry, bucket.request);
    this.#refresh(entry);
  }

  /**
   * The user's usage changed in the team and in all teams above it. So the position of each request of this user may
   * change in all of these teams.
   */
  #sortAgain(entry: Entry, { actor }: PlacementRequest): void {
    if (!this.#world.rules.order.includes("user")) return;
    for (let at: Entry | null = entry; at !== null; at = at.parent)
      if (at.own instanceof OwnBuckets) at.own.sortAgain(actor);
  }

  drop(bucket: QueueBucket): void {
    const entry = this.#entry(this.#world.teamUse.node(bucket.request.team));
    entry.own.drop(bucket);
    this.#refresh(entry);
  }

  add(bucket: QueueBucket): void {
    const entry = this.#entry(this.#world.teamUse.node(bucket.request.team));
    entry.own.add(bucket);
    this.#refresh(entry);
  }

  /**
   * Updates the best bucket of the team and of every team above it, after the usage or the best request of the team
   * changed.
   */
  #refresh(entry: Entry): void {
    for (let at: Entry | null = entry; at !== null; at = at.parent) this.#chooseBest(at);
  }

  #compareEntries(left: Entry, right: Entry): number {
    const { useEpoch } = this.#world.teamUse;
    left.ranked.see(() => this.#seen(left), useEpoch);
    right.ranked.see(() => this.#seen(right), useEpoch);
    return left.ranked.compare(right.ranked);
  }

  #seen({ node, best }: Entry): Seen {
    const bucket = best as QueueBucket;
    this.#teamShares ??= teamSharesOf(this.#world);
    return {
      teamShare: this.#teamShares.get(node) as TeamShare,
      request: amountCompared(this.#world, bucket.request),
      taken: null,
    };
  }
}
