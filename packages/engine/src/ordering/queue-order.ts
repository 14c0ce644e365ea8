/**
 * Order of waiting requests and growth requests if no two teams are compared. No two of these requests are identical,
 * so equal keys cannot occur and the evaluation order does not matter.
 */
import type { Rules } from "../policy/rules.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { CompareClasses } from "../cluster/head-order.ts";
import type { RoundOrder } from "./round-order.ts";

/**
 * Number of buckets found by a plain search; most rounds end with the first or second bucket, so the list need not be
 * sorted.
 */
const SOUGHT_MAX = 2;

export class QueueOrder implements RoundOrder {
  readonly #rules: Rules;
  /**
   * Buckets, with the best one last after a search; the list is sorted completely once more than a few were dropped.
   */
  readonly #classes: QueueBucket[];
  readonly #compare: CompareClasses;
  #isBestLast = false;
  #isSorted = false;
  #droppedCount = 0;

  /** Takes ownership of the list. */
  constructor(rules: Rules, classes: QueueBucket[], compare: CompareClasses) {
    this.#rules = rules;
    this.#classes = classes;
    this.#compare = compare;
  }

  first(): QueueBucket | null {
    if (!this.#isBestLast) {
      if (this.#droppedCount < SOUGHT_MAX) this.#bringBestLast();
      else if (!this.#isSorted) this.#sort();
      this.#isBestLast = true;
    }
    return this.#classes.at(-1) ?? null;
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
    // The usage of this user has changed, and with it the position of all requests of the user.
    if (this.#rules.order.includes("user")) this.#forgetOrder();
    // The bucket has another head, so its position changes.
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

/** Inserts a bucket into a sorted list, the best one last. */
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
