/**
 * Lower bounds for changes by others, computed without a round: the least number of ended attempts, joined nodes or
 * amount of quota. They assume that all preemptible work is evicted and that no other waiting request starts, so a
 * request that does not fit here cannot start in a round.
 */
import { bisect } from "@headroom/model";
import type { Input, NodeId, Attempt } from "@headroom/model";
import {
  couldEverFit,
  emptyNodeWorkers,
  findPlacement,
  isInGroups,
  quotaReached,
  ReleasingRoom,
  countsForTeam,
  Ledger,
} from "@headroom/engine/internals";
import type { QueueBucket, World } from "@headroom/engine/internals";

/**
 * After this number of unsuccessful placement searches, ends are skipped before the next search: first one, then two,
 * then three and so on.
 */
const LOOKS_IN_A_ROW = 16;
/** Phases that evict work. */
const EVICTING = ["consolidate", "reclaim", "preempt", "rebalance"] as const;

export class OtherLowerBound {
  readonly #world: World;
  readonly #bucket: QueueBucket;
  readonly #ledger: Ledger;
  readonly #isEvicting: boolean;
  readonly takeIn: (inputs: readonly Input[]) => void;

  /** `world` is modified and must be discarded afterwards. `takeIn` applies inputs to it without a round. */
  constructor(world: World, bucket: QueueBucket, takeIn: (inputs: readonly Input[]) => void) {
    this.#world = world;
    this.#bucket = bucket;
    this.takeIn = takeIn;
    this.#ledger = new Ledger(world);
    this.#isEvicting = EVICTING.some((phase) => world.rules.phases.includes(phase));
    if (!this.#isEvicting) return;
    for (const work of world.evictable.values()) for (const attempt of work.attempts()) this.#ledger.vacate(attempt, 0);
  }

  /** Ends the search and restores the evicted work. */
  end(): void {
    this.#ledger.rollback();
  }

  /** Whether the request fits in the present state. */
  isThere(): boolean {
    return (
      couldEverFit(this.#world, this.#bucket) && findPlacement(this.#world, this.#bucket.request, "releasing") !== null
    );
  }

  /**
   * Index of the first amount, in ascending order, with which the request fits under its team's quotas. It is the
   * number of amounts if the request fits with none.
   */
  underTeam(count: number, inputsOf: (index: number) => readonly Input[]): number {
    const isThereWith = (index: number): boolean => {
      this.takeIn(inputsOf(index));
      return this.isThere();
    };
    return count === 0 || !isThereWith(count - 1) ? count : bisect(-1, count - 1, isThereWith);
  }

  /** Minimum number of nodes of the same shape as `id` that must join. `null` if no number suffices. */
  nodesLike(id: NodeId): number | null {
    // If the workers have different shapes, sums of capacity give no lower bound, so the lower bound is one node.
    if (isInGroups(this.#bucket.request) || this.isThere()) return 1;
    const world = this.#world;
    const { gang, workers } = this.#bucket.request;
    const like = world.capacity.slot(id);
    const { acceleratorType } = like.node;
    const reached = quotaReached(world, this.#bucket.request, acceleratorType);
    // A larger fleet helps against one bound only: the one that protects other teams' guarantees.
    if (reached !== null && reached.bound !== "unguaranteed") return null;
    const missing = workers - new ReleasingRoom(world, this.#bucket.request).of(acceleratorType);
    return Math.max(1, Math.ceil(missing / emptyNodeWorkers(like, gang)));
  }

  /**
   * Minimum number of these attempts that have to end. If the request does not fit even after all ends, it is one more
   * than their number.
   */
  afterEnds(attempts: readonly Attempt[]): number {
    if (!couldEverFit(this.#world, this.#bucket)) return attempts.length + 1;
    const mark = this.#ledger.mark();
    try {
      return this.#lookAfterEnds(attempts);
    } finally {
      this.#ledger.rollback(mark);
    }
  }

  #isVacated(attempt: Attempt): boolean {
    const { evictable, state } = this.#world;
    const team = state.workloads.get(attempt.workloadId)?.spec.team;
    return this.#isEvicting && team !== undefined && evictable.get(team)?.has(attempt) === true;
  }

  #lookAfterEnds(attempts: readonly Attempt[]): number {
    const world = this.#world;
    const room = new ReleasingRoom(world, this.#bucket.request);
    let looks = 0;
    let ruledOut = 0;
    let next = 0;
    for (const [index, known] of attempts.entries()) {
      const attempt = world.state.attempts.get(known.id);
      if (attempt === undefined) continue;
      if (attempt.stop !== null) {
        if (countsForTeam(attempt)) this.#ledger.endUsage(attempt);
      } else if (!this.#isVacated(attempt)) this.#ledger.vacate(attempt, 0);
      room.changed(attempt.workers);
      const isLast = index === attempts.length - 1;
      if (!room.suffices) ruledOut = index + 1;
      if (!room.suffices || (index < next && !isLast)) continue;
      if (findPlacement(world, this.#bucket.request, "releasing") !== null) return ruledOut + 1;
      ruledOut = index + 1;
      looks++;
      next = index + 1 + Math.max(0, looks - LOOKS_IN_A_ROW);
    }
    return attempts.length + 1;
  }
}
