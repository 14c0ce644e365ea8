/**
 * Scores of the nodes of one accelerator type: their free capacity as last seen, a log of changed nodes, and a ranking
 * for each requested worker shape. A ranking is up to date to a position of the log.
 */
import type { WorkerAsk } from "../../state/demand-mix.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import type { FreeProfile } from "./free-profile.ts";
import { ProfileTable } from "./free-profile.ts";
import { NO_ROOM, Ranking } from "./ranking.ts";
import { isShare } from "./score.ts";
import type { Score, ScoredNode } from "./score.ts";

/**
 * A ranking of the completely free nodes with `untouchedSize` accelerators. If `untouchedSize` is 0, the ranking
 * contains all other nodes of the type.
 */
export interface RankedGroup {
  readonly untouchedSize: number;
  readonly ranking: Ranking;
}

/**
 * Free thousandths of accelerators on usable nodes of all types: in total, and on completely free nodes by their number
 * of accelerators.
 */
export interface FreeSums {
  milli: number;
  readonly untouchedMilli: Map<number, number>;
}

/** Free capacity of a node when it was last read. */
interface NodeAsSeen {
  readonly slot: NodeSlot;
  profile: FreeProfile;
  cores: number;
  memory: number;
  workers: number;
}

/**
 * Maximum number of profiles, each of which caches values. Beyond this number, all are dropped and computed again when
 * needed.
 */
const PROFILES_MAX = 100_000;

export class ScoredType {
  readonly type: TypeCapacity;
  readonly #sums: FreeSums;
  readonly #sizes: readonly number[];
  #table = new ProfileTable();
  readonly #nodes: NodeAsSeen[];
  readonly #isStale: Uint8Array;
  readonly #stale: number[] = [];
  readonly #rankings = new Map<string, readonly RankedGroup[]>();
  #log: number[] = [];
  /** Number of entries that were dropped from the front of the log. */
  #logStart = 0;

  /** If `groupsUntouched` is true, completely free nodes are ranked separately. */
  constructor(type: TypeCapacity, sums: FreeSums, groupsUntouched: boolean) {
    this.type = type;
    this.#sums = sums;
    this.#sizes = groupsUntouched ? [...new Set(type.slots.map(({ totalCount }) => totalCount))] : [];
    this.#isStale = new Uint8Array(type.slots.length);
    this.#nodes = type.slots.map((slot) => ({ slot, ...this.#amountsOf(slot) }));
    for (const { slot, profile } of this.#nodes) this.#sum(slot, profile, 1);
  }

  #amountsOf(slot: NodeSlot): Omit<NodeAsSeen, "slot"> {
    const { coresFreeMilli: cores, memoryFreeMib: memory, workersFree: workers } = slot;
    return { profile: this.#table.of(slot), cores, memory, workers };
  }

  #sum(slot: NodeSlot, { freeMilli }: FreeProfile, sign: 1 | -1): void {
    if (!slot.usable) return;
    const { untouchedMilli } = this.#sums;
    const { totalCount } = slot;
    this.#sums.milli += sign * freeMilli;
    if (freeMilli === totalCount * 1000)
      untouchedMilli.set(totalCount, (untouchedMilli.get(totalCount) ?? 0) + sign * freeMilli);
  }

  /** Notes that the free capacity of a node has changed. */
  changed(position: number): void {
    if (this.#isStale[position] === 1) return;
    this.#isStale[position] = 1;
    this.#stale.push(position);
  }

  /** Applies pending changes. A tentative change that was undone has no effect. */
  update(): void {
    for (const position of this.#stale) {
      this.#isStale[position] = 0;
      const node = this.#nodes[position] as NodeAsSeen;
      const now = this.#amountsOf(node.slot);
      const { profile, cores, memory, workers } = node;
      if (now.profile === profile && now.cores === cores && now.memory === memory && now.workers === workers) continue;
      this.#sum(node.slot, profile, -1);
      this.#sum(node.slot, now.profile, 1);
      Object.assign(node, now);
      this.#log.push(position);
    }
    this.#stale.length = 0;
    this.#bound();
  }

  /**
   * Drops the log if it has become too long. A ranking that had not processed the dropped entries is rebuilt when it is
   * next used.
   */
  #bound(): void {
    if (this.#log.length > 4 * this.#nodes.length + 1024) {
      this.#logStart += this.#log.length;
      this.#log = [];
    }
    if (this.#table.size > PROFILES_MAX) this.forgetValues();
  }

  /** Invalidates the cached values of all profiles. */
  forgetValues(): void {
    this.#table = new ProfileTable();
    for (const node of this.#nodes) node.profile = this.#table.of(node.slot);
    this.forgetRankings();
  }

  forgetRankings(): void {
    this.#rankings.clear();
  }

  /** The number of nodes multiplied by the number of rankings, which determines the memory that the rankings use. */
  get rankedCount(): number {
    return this.#rankings.size * this.#nodes.length * (this.#sizes.length + 1);
  }

  node(position: number): ScoredNode {
    return this.#nodes[position] as ScoredNode;
  }

  /** The up-to-date ranking for a worker shape. */
  ranked(key: string, ask: WorkerAsk, score: Score): readonly RankedGroup[] {
    const known = this.#rankings.get(key);
    const count = this.#nodes.length;
    const groups =
      known ?? [0, ...this.#sizes].map((untouchedSize) => ({ untouchedSize, ranking: new Ranking(count) }));
    if (known === undefined) this.#rankings.set(key, groups);
    const end = this.#logStart + this.#log.length;
    const seen = (groups[0] as RankedGroup).ranking.seen;
    if (known === undefined || seen < this.#logStart) this.#fill(groups, ask, score);
    else
      for (let entry = seen - this.#logStart; entry < this.#log.length; entry++) {
        const position = this.#log[entry] as number;
        const value = this.#scoreAt(position, ask, score);
        const group = this.#groupOf(position);
        for (const { untouchedSize, ranking } of groups)
          ranking.set(position, untouchedSize === group ? value : NO_ROOM);
      }
    for (const { ranking } of groups) ranking.seen = end;
    return groups;
  }

  #fill(groups: readonly RankedGroup[], ask: WorkerAsk, score: Score): void {
    const values = Float64Array.from(this.#nodes, (_, position) => this.#scoreAt(position, ask, score));
    for (const { untouchedSize, ranking } of groups)
      ranking.fill(
        (position) => (this.#groupOf(position) === untouchedSize ? (values[position] as number) : NO_ROOM),
        values.length,
      );
  }

  #groupOf(position: number): number {
    if (this.#sizes.length === 0) return 0;
    const { slot } = this.node(position);
    return slot.freeCount === slot.totalCount ? slot.totalCount : 0;
  }

  #scoreAt(position: number, ask: WorkerAsk, score: Score): number {
    const node = this.node(position);
    return hasRoom(node, ask) ? score.score(node, ask) : NO_ROOM;
  }
}

function hasRoom({ slot, profile }: ScoredNode, ask: WorkerAsk): boolean {
  if (!slot.usable || slot.workersFree < 1) return false;
  if (ask.coresMilli > 0 && slot.coresFreeMilli < ask.coresMilli) return false;
  if (ask.memoryMib > 0 && slot.memoryFreeMib < ask.memoryMib) return false;
  if (!isShare(ask)) return profile.whole >= ask.accelerators;
  return profile.whole > 0 || (profile.parts.at(-1) ?? 0) >= ask.milli;
}
