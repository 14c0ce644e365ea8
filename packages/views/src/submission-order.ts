/**
 * Workloads in submission order, with access from any position. The state's map has that order, but can only be read
 * from its oldest entry. This index is kept beside an engine and extended on each read.
 */
import type { Engine, ReadonlyState } from "@headroom/engine";
import type { Workload, WorkloadId } from "@headroom/model";

type Workloads = ReadonlyState["workloads"];

/** Number of entries for removed workloads at which the index is rebuilt. */
const GONE_MIN = 4_096;

class SubmissionOrder {
  readonly #workloads: Workloads;
  #ids: WorkloadId[] = [];
  /** Ordinals in ascending order, as many as `#ids`. */
  #ordinals: number[] = [];
  /** An iterator that stays open. It stands behind the newest entry and continues when newer ones are inserted. */
  #unseen: Iterator<Workload>;
  #seenOrdinal = 0;

  constructor(workloads: Workloads) {
    this.#workloads = workloads;
    this.#unseen = workloads.values();
  }

  update(submittedCount: number): void {
    if (this.#ids.length > 2 * this.#workloads.size + GONE_MIN) this.#forget();
    while (this.#seenOrdinal < submittedCount) {
      const next = this.#unseen.next();
      if (next.done === true) {
        // The newest entries were removed. An iterator at its end would stay there, so the next read starts over.
        this.#forget();
        this.#takeAll();
        this.#seenOrdinal = submittedCount;
        return;
      }
      this.#take(next.value);
    }
  }

  /** Entries next to `ordinal` in one direction, the nearest first, without removed ones. */
  *beside(ordinal: number, direction: "newer" | "older"): Generator<Workload> {
    const step = direction === "newer" ? 1 : -1;
    const start = direction === "newer" ? this.#firstAtOrAbove(ordinal + 1) : this.#firstAtOrAbove(ordinal) - 1;
    for (let index = start; index >= 0 && index < this.#ids.length; index += step) {
      const workload = this.#workloads.get(this.#ids[index] as WorkloadId);
      // A workload that runs again has its newer position.
      if (workload?.ordinal === this.#ordinals[index]) yield workload as Workload;
    }
  }

  /** All present entries. The iterator stops before its end. */
  #takeAll(): void {
    for (let left = this.#workloads.size; left > 0; left--)
      this.#take((this.#unseen.next() as { value: Workload }).value);
  }

  #take(workload: Workload): void {
    this.#ids.push(workload.id);
    this.#ordinals.push(workload.ordinal);
    this.#seenOrdinal = workload.ordinal;
  }

  #forget(): void {
    this.#ids = [];
    this.#ordinals = [];
    this.#seenOrdinal = 0;
    this.#unseen = this.#workloads.values();
  }

  #firstAtOrAbove(ordinal: number): number {
    let low = 0;
    let high = this.#ordinals.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ordinals[middle] as number) < ordinal) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const orders = new WeakMap<Workloads, SubmissionOrder>();

export function submissionOrder(engine: Engine): SubmissionOrder {
  const { state } = engine;
  let order = orders.get(state.workloads);
  if (order === undefined) {
    order = new SubmissionOrder(state.workloads);
    orders.set(state.workloads, order);
  }
  order.update(state.submittedCount);
  return order;
}
