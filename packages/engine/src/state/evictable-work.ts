/** A team's attempts that may be evicted and were not asked to leave, in the order of placing, with sums that bound what any plan could take. */
import type { Attempt, WorkloadSpec } from "../model/workload.ts";

export class EvictableWork {
  /** What each was counted with. */
  readonly #accelerators = new Map<Attempt, number>();
  readonly #byPriority = new Map<number, number>();
  #sum = 0;

  get size(): number {
    return this.#accelerators.size;
  }

  get attempts(): Iterable<Attempt> {
    return this.#accelerators.keys();
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

  has(attempt: Attempt): boolean {
    return this.#accelerators.has(attempt);
  }

  /** Files it, or counts it anew. */
  add(attempt: Attempt, { gang, priority }: WorkloadSpec): void {
    const before = this.#accelerators.get(attempt);
    const accelerators = attempt.workers.length * gang.accelerators;
    this.#accelerators.set(attempt, accelerators);
    this.#sum += accelerators - (before ?? 0);
    if (before === undefined) this.#byPriority.set(priority, (this.#byPriority.get(priority) ?? 0) + 1);
  }

  /** Takes it out, if it is filed. */
  delete(attempt: Attempt, { priority }: WorkloadSpec): void {
    const counted = this.#accelerators.get(attempt);
    if (counted === undefined) return;
    this.#accelerators.delete(attempt);
    this.#sum -= counted;
    const others = (this.#byPriority.get(priority) ?? 0) - 1;
    if (others > 0) this.#byPriority.set(priority, others);
    else this.#byPriority.delete(priority);
  }
}
