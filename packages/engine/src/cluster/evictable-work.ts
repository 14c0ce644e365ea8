/**
 * A team's preemptible attempts that are not terminating, with sums that bound what any plan can free. Work that only a
 * guarantee can reclaim is in a separate index, because plans for any other purpose cannot evict or migrate it.
 */
import type { NodeId, Attempt, WorkerAllocation, WorkloadSpec } from "@headroom/model";

/** The amounts that were added to the sums for an attempt. */
interface CountedWork {
  readonly workers: readonly WorkerAllocation[];
  readonly perWorker: number;
}

class PreemptibleAttempts {
  readonly #counted = new Map<Attempt, CountedWork>();
  readonly #byPriority = new Map<number, number>();
  #sum = 0;
  /** Upper bounds by node. `null` until they are first read; from then on they are kept up to date. */
  #byNode: Map<NodeId, number> | null = null;

  get size(): number {
    return this.#counted.size;
  }

  get attempts(): Iterable<Attempt> {
    return this.#counted.keys();
  }

  /** Upper bound of the accelerators of all attempts: a fraction counts as a whole accelerator. */
  get accelerators(): number {
    return this.#sum;
  }

  get priorityMin(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const priority of this.#byPriority.keys()) least = Math.min(least, priority);
    return least;
  }

  /** Upper bound of the accelerators of preemptible work, by node. */
  get byNode(): ReadonlyMap<NodeId, number> {
    if (this.#byNode === null) {
      this.#byNode = new Map();
      for (const counted of this.#counted.values()) addByNode(this.#byNode, counted, 1);
    }
    return this.#byNode;
  }

  has(attempt: Attempt): boolean {
    return this.#counted.has(attempt);
  }

  /** Adds the attempt, or updates its amounts. */
  add(attempt: Attempt, { gang, priority }: WorkloadSpec): void {
    if (!this.#uncount(attempt)) this.#byPriority.set(priority, (this.#byPriority.get(priority) ?? 0) + 1);
    const counted = { workers: attempt.workers, perWorker: gang.accelerators };
    this.#counted.set(attempt, counted);
    this.#count(counted, 1);
  }

  delete(attempt: Attempt, { priority }: WorkloadSpec): void {
    if (!this.#uncount(attempt)) return;
    this.#counted.delete(attempt);
    const others = (this.#byPriority.get(priority) ?? 0) - 1;
    if (others > 0) this.#byPriority.set(priority, others);
    else this.#byPriority.delete(priority);
  }

  /** Returns whether the attempt was in the index. */
  #uncount(attempt: Attempt): boolean {
    const before = this.#counted.get(attempt);
    if (before !== undefined) this.#count(before, -1);
    return before !== undefined;
  }

  #count(counted: CountedWork, sign: 1 | -1): void {
    this.#sum += sign * counted.workers.length * counted.perWorker;
    if (this.#byNode !== null) addByNode(this.#byNode, counted, sign);
  }
}

export class EvictableWork {
  /** Work that any plan may evict (`preemptible: always`). */
  readonly always: PreemptibleAttempts = new PreemptibleAttempts();
  /** Work that only another team's guarantee can reclaim (`preemptible: aboveGuarantee`). */
  readonly guarded: PreemptibleAttempts = new PreemptibleAttempts();

  get size(): number {
    return this.always.size + this.guarded.size;
  }

  /**
   * Attempts that a plan may evict. `guarantee`: a plan for a team's own guarantee. `any`: a plan for any other
   * purpose.
   */
  for(ground: "guarantee" | "any"): readonly PreemptibleAttempts[] {
    return ground === "guarantee" ? [this.always, this.guarded] : [this.always];
  }

  *attempts(): Generator<Attempt> {
    yield* this.always.attempts;
    yield* this.guarded.attempts;
  }

  has(attempt: Attempt): boolean {
    return this.always.has(attempt) || this.guarded.has(attempt);
  }

  delete(attempt: Attempt, spec: WorkloadSpec): void {
    this.always.delete(attempt, spec);
    this.guarded.delete(attempt, spec);
  }
}

function addByNode(byNode: Map<NodeId, number>, { workers, perWorker }: CountedWork, sign: 1 | -1): void {
  for (const { node } of workers) {
    const count = (byNode.get(node) ?? 0) + sign * perWorker;
    if (count === 0) byNode.delete(node);
    else byNode.set(node, count);
  }
}
