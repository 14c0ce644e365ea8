/** A team's attempts that may be evicted and were not asked to leave, in the order of placing, with sums that bound what any plan could take. */
import type { NodeId } from "../model/ids.ts";
import type { Attempt, WorkerAllocation, WorkloadSpec } from "../model/workload.ts";

/** What an attempt was counted with. */
interface CountedWork {
  readonly workers: readonly WorkerAllocation[];
  readonly perWorker: number;
}

export class EvictableWork {
  readonly #counted = new Map<Attempt, CountedWork>();
  readonly #byPriority = new Map<number, number>();
  #sum = 0;
  /** Kept up to date once somebody has asked. */
  #byNode: Map<NodeId, number> | null = null;

  get size(): number {
    return this.#counted.size;
  }

  get attempts(): Iterable<Attempt> {
    return this.#counted.keys();
  }

  /** At most: a share counts as the accelerator that it is of. */
  get accelerators(): number {
    return this.#sum;
  }

  get priorityMin(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const priority of this.#byPriority.keys()) least = Math.min(least, priority);
    return least;
  }

  /** The same by the nodes on which they are. */
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

  /** Files it, or counts it anew. */
  add(attempt: Attempt, { gang, priority }: WorkloadSpec): void {
    if (!this.#uncount(attempt)) this.#byPriority.set(priority, (this.#byPriority.get(priority) ?? 0) + 1);
    const counted = { workers: attempt.workers, perWorker: gang.accelerators };
    this.#counted.set(attempt, counted);
    this.#count(counted, 1);
  }

  /** Takes it out, if it is filed. */
  delete(attempt: Attempt, { priority }: WorkloadSpec): void {
    if (!this.#uncount(attempt)) return;
    this.#counted.delete(attempt);
    const others = (this.#byPriority.get(priority) ?? 0) - 1;
    if (others > 0) this.#byPriority.set(priority, others);
    else this.#byPriority.delete(priority);
  }

  /** False: it is not filed. */
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

function addByNode(byNode: Map<NodeId, number>, { workers, perWorker }: CountedWork, sign: 1 | -1): void {
  for (const { node } of workers) {
    const count = (byNode.get(node) ?? 0) + sign * perWorker;
    if (count === 0) byNode.delete(node);
    else byNode.set(node, count);
  }
}
