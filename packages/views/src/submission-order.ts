/**
 * Workloads in submission order, seekable: the state's map has that order but can only be walked from its oldest entry.
 * The index is kept beside an engine and extended on each read.
 */
import type { Engine, ReadonlyState, Workload, WorkloadId } from "@headroom/engine";

type Workloads = ReadonlyState["workloads"];

/** Rebuilt once this many entries point at removed workloads. */
const GONE_MIN = 4_096;

class SubmissionOrder {
  readonly #workloads: Workloads;
  #ids: WorkloadId[] = [];
  /** Ascending, as long as `#ids`. */
  #ordinals: number[] = [];
  /** A live iterator: it stands behind the newest entry and continues when newer ones are inserted. */
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
        // The newest entries were removed. An iterator at its end stays there: the next walk starts over.
        this.#forget();
        this.#takeAll();
        this.#seenOrdinal = submittedCount;
        return;
      }
      this.#take(next.value);
    }
  }

  /** Entries beside `ordinal` in one direction, the nearest first, without removed ones. */
  *beside(ordinal: number, direction: "newer" | "older"): Generator<Workload> {
    const step = direction === "newer" ? 1 : -1;
    const start = direction === "newer" ? this.#firstAtOrAbove(ordinal + 1) : this.#firstAtOrAbove(ordinal) - 1;
    for (let index = start; index >= 0 && index < this.#ids.length; index += step) {
      const workload = this.#workloads.get(this.#ids[index] as WorkloadId);
      // A workload that runs again stands at its newer place.
      if (workload?.ordinal === this.#ordinals[index]) yield workload as Workload;
    }
  }

  /** All present entries, through an iterator that stops before its end. */
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
