/**
 * Order in which teams are served. From the root of the quota tree down, the sibling with the lowest rank is next. The
 * rank of a team uses the best request of the team and the teams below it. A team's own work competes with the work of
 * its child teams.
 */
import type { TeamOrderKey } from "@headroom/model";
import { amountCompared } from "../cluster/request.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";
import { insertSorted } from "./queue-order.ts";
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
  /** The team's own buckets, the best one last. */
  readonly classes: QueueBucket[];
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
  readonly #entries = new Map<TeamNode, Entry>();
  readonly #top: Entry[] = [];

  constructor(world: World, classes: readonly QueueBucket[], compareHeads: CompareClasses) {
    this.#world = world;
    this.#keys = world.rules.teams.order;
    this.#compareHeads = compareHeads;
    for (const bucket of classes) this.#entry(world.teamUse.node(bucket.request.team)).classes.push(bucket);
    // The best bucket is sorted last, because for most teams only this bucket is taken, from the end of the list.
    for (const { classes: own } of this.#entries.values()) own.sort((left, right) => this.#compareHeads(right, left));
    for (const entry of [...this.#entries.values()].toReversed())
      if (entry.parent === null) this.#chooseFromBelow(entry);
  }

  #entry(node: TeamNode): Entry {
    const known = this.#entries.get(node);
    if (known !== undefined) return known;
    const parent = node.parent === null ? null : this.#entry(node.parent);
    const entry: Entry = { node, parent, classes: [], children: [], best: null, ranked: new RankedTeam(this.#keys) };
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
    const own = entry.classes.at(-1) ?? null;
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
    const { classes } = this.#entry(this.#world.teamUse.node(bucket.request.team));
    remove(classes, bucket);
    this.#sortAgain(bucket.request);
    // The next request is now first in the bucket, so the bucket may have another position among the team's buckets.
    if (bucket.waiting.length > 0 && !bucket.request.isGrowth) insertSorted(classes, bucket, this.#compareHeads);
    this.#refresh(bucket);
  }

  /**
   * The user's usage changed in the team and in all teams above it. So the position of each request of this user may
   * change in all of these teams.
   */
  #sortAgain({ team, actor }: PlacementRequest): void {
    if (!this.#world.rules.order.includes("user")) return;
    for (let at: Entry | null = this.#entry(this.#world.teamUse.node(team)); at !== null; at = at.parent) {
      const own = at.classes.filter((other) => other.request.actor === actor);
      for (const each of own) remove(at.classes, each);
      for (const each of own) insertSorted(at.classes, each, this.#compareHeads);
    }
  }

  drop(bucket: QueueBucket): void {
    const { classes } = this.#entry(this.#world.teamUse.node(bucket.request.team));
    remove(classes, bucket);
    this.#refresh(bucket);
  }

  add(bucket: QueueBucket): void {
    insertSorted(this.#entry(this.#world.teamUse.node(bucket.request.team)).classes, bucket, this.#compareHeads);
    this.#refresh(bucket);
  }

  /**
   * Updates the best bucket of the team and of every team above it, after the usage or the best request of the team
   * changed.
   */
  #refresh(bucket: QueueBucket): void {
    for (let at: Entry | null = this.#entry(this.#world.teamUse.node(bucket.request.team)); at !== null; at = at.parent)
      this.#chooseBest(at);
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

function remove(classes: QueueBucket[], bucket: QueueBucket): void {
  if (classes.at(-1) === bucket) classes.pop();
  else {
    const index = classes.indexOf(bucket);
    if (index >= 0) classes.splice(index, 1);
  }
}
