/**
 * A team's preemptible, non-terminating attempts in the order of placement, with sums that bound the yield of any plan.
 */
import type { NodeId } from "../model/ids.ts";
import type { Attempt, WorkerAllocation, WorkloadSpec } from "../model/workload.ts";

/** The amounts with which an attempt was counted. */
interface CountedWork {
  readonly workers: readonly WorkerAllocation[];
  readonly perWorker: number;
}

export class EvictableWork {
  readonly #counted = new Map<Attempt, CountedWork>();
  readonly #byPriority = new Map<number, number>();
  #sum = 0;
  /** Maintained from the first read on. */
  #byNode: Map<NodeId, number> | null = null;

  get size(): number {
    return this.#counted.size;
  }

  get attempts(): Iterable<Attempt> {
    return this.#counted.keys();
  }

  /** An upper bound: a fraction counts as a whole accelerator. */
  get accelerators(): number {
    return this.#sum;
  }

  get priorityMin(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const priority of this.#byPriority.keys()) least = Math.min(least, priority);
    return least;
  }

  /** Upper bound of preemptible accelerators by node. */
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

  /** Removes the attempt, if present. */
  delete(attempt: Attempt, { priority }: WorkloadSpec): void {
    if (!this.#uncount(attempt)) return;
    this.#counted.delete(attempt);
    const others = (this.#byPriority.get(priority) ?? 0) - 1;
    if (others > 0) this.#byPriority.set(priority, others);
    else this.#byPriority.delete(priority);
  }

  /** False: it is not in the index. */
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
