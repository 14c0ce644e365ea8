/** All waiting work in one queue, regardless of team. */
import type { QueueBucket } from "../cluster/queue.ts";
import type { CompareClasses } from "../cluster/head-order.ts";
import type { RoundOrder } from "./round-order.ts";

export class FlatOrder implements RoundOrder {
  readonly #classes: QueueBucket[];
  readonly #compare: CompareClasses;
  #firstAt = 0;

  /** Keeps and changes the list `classes`, so the caller must not use it afterwards. */
  constructor(classes: readonly QueueBucket[], compare: CompareClasses) {
    this.#classes = classes as QueueBucket[];
    this.#compare = compare;
  }

  first(): QueueBucket | null {
    const classes = this.#classes;
    if (classes.length === 0) return null;
    let best = 0;
    for (let index = 1; index < classes.length; index++) {
      if (this.#compare(classes[index] as QueueBucket, classes[best] as QueueBucket) < 0) best = index;
    }
    this.#firstAt = best;
    return classes[best] as QueueBucket;
  }

  served(bucket: QueueBucket): void {
    if (bucket.waiting.length === 0 || bucket.request.isGrowth) this.drop(bucket);
  }

  add(bucket: QueueBucket): void {
    this.#classes.push(bucket);
  }

  /**
   * The list needs no order, because `first` compares all buckets. So the last bucket takes the place of the removed
   * one.
   */
  drop(bucket: QueueBucket): void {
    const classes = this.#classes;
    const index = classes[this.#firstAt] === bucket ? this.#firstAt : classes.indexOf(bucket);
    if (index < 0) return;
    const last = classes.pop() as QueueBucket;
    if (index < classes.length) classes[index] = last;
  }
}
