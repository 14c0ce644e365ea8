/**
 * Order of waiting requests and growth requests if all of them belong to one team, or if the policy does not compare
 * teams. No two requests are equal in this order, so it does not matter which are compared first.
 */
import type { Rules } from "@headroom/model";
import type { QueueBucket } from "../cluster/queue.ts";
import type { CompareClasses } from "../cluster/head-order.ts";
import type { RoundOrder } from "./round-order.ts";

/**
 * Number of dropped buckets from which on the list is sorted. Before that, a linear search finds the best bucket: most
 * rounds need only one or two buckets.
 */
const SOUGHT_MAX = 2;
/** Number of buckets up to which a linear search is always faster. */
const SEARCHED_MAX = 8;

export class QueueOrder implements RoundOrder {
  readonly #rules: Rules;
  /**
   * All buckets. After a search the best bucket is last. After `SOUGHT_MAX` drops the whole list is sorted, with the
   * best bucket last.
   */
  readonly #classes: QueueBucket[];
  readonly #compare: CompareClasses;
  #isBestLast = false;
  #isSorted = false;
  #droppedCount = 0;

  /** Keeps and changes the list `classes`, so the caller must not use it afterwards. */
  constructor(rules: Rules, classes: QueueBucket[], compare: CompareClasses) {
    this.#rules = rules;
    this.#classes = classes;
    this.#compare = compare;
  }

  first(): QueueBucket | null {
    const classes = this.#classes;
    if (!this.#isBestLast && !this.#isSorted) {
      if (this.#droppedCount < SOUGHT_MAX || classes.length <= SEARCHED_MAX) this.#bringBestLast();
      else this.#sort();
    }
    this.#isBestLast = true;
    return classes.at(-1) ?? null;
  }

  #bringBestLast(): void {
    const classes = this.#classes;
    const lastAt = classes.length - 1;
    let bestAt = lastAt;
    for (let at = 0; at < lastAt; at++)
      if (this.#compare(classes[at] as QueueBucket, classes[bestAt] as QueueBucket) < 0) bestAt = at;
    if (bestAt === lastAt) return;
    const best = classes[bestAt] as QueueBucket;
    classes[bestAt] = classes[lastAt] as QueueBucket;
    classes[lastAt] = best;
  }

  #sort(): void {
    this.#classes.sort((left, right) => this.#compare(right, left));
    this.#isSorted = true;
  }

  served(bucket: QueueBucket): void {
    this.#remove(bucket);
    // The user's usage changed, so every request of this user may have another position in the order.
    if (this.#rules.order.includes("user")) this.#forgetOrder();
    // The next request is now first in the bucket, so the bucket may have another position in the order.
    if (bucket.waiting.length > 0 && !bucket.request.isGrowth) this.add(bucket);
  }

  #forgetOrder(): void {
    this.#isSorted = false;
    this.#droppedCount = 0;
  }

  add(bucket: QueueBucket): void {
    if (!this.#isSorted) this.#classes.push(bucket);
    else insertSorted(this.#classes, bucket, this.#compare);
    this.#isBestLast = false;
  }

  drop(bucket: QueueBucket): void {
    this.#remove(bucket);
    this.#droppedCount++;
  }

  #remove(bucket: QueueBucket): void {
    const classes = this.#classes;
    this.#isBestLast = false;
    if (classes.at(-1) === bucket) {
      classes.pop();
      return;
    }
    const index = classes.indexOf(bucket);
    if (index >= 0) classes.splice(index, 1);
  }
}

/** Inserts a bucket into a list that is sorted with the best bucket last. */
export function insertSorted(classes: QueueBucket[], bucket: QueueBucket, compare: CompareClasses): void {
  let low = 0;
  let high = classes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(classes[middle] as QueueBucket, bucket) > 0) low = middle + 1;
    else high = middle;
  }
  classes.splice(low, 0, bucket);
}
