/**
 * What waits and the growth of what runs, where no two teams are to be compared. No two of these requests are alike, as two
 * tasks of an array are that a plan would place again: so it does not matter in which order they are looked at.
 */
import type { Rules } from "../policy/rules.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { CompareClasses } from "../cluster/head-order.ts";
import type { RoundOrder } from "./round-order.ts";

/** Most rounds end with the first class or the second: so many are found without bringing all of them in order. */
const SOUGHT_MAX = 2;

export class QueueOrder implements RoundOrder {
  readonly #rules: Rules;
  /** The best last, once it was looked for; all in order, once more than a few were dropped. */
  readonly #classes: QueueBucket[];
  readonly #compare: CompareClasses;
  #isBestLast = false;
  #isSorted = false;
  #droppedCount = 0;

  /** Takes the list over. */
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

  served(found: QueueBucket): void {
    this.#remove(found);
    // What its user holds has changed, and with it the place of everything else of that user.
    if (this.#rules.order.includes("user")) this.#forgetOrder();
    // It has another head now, and with it another place.
    if (found.waiting.length > 0 && !found.isGrowth) this.add(found);
  }

  #forgetOrder(): void {
    this.#isSorted = false;
    this.#droppedCount = 0;
  }

  add(found: QueueBucket): void {
    if (!this.#isSorted) this.#classes.push(found);
    else insertSorted(this.#classes, found, this.#compare);
    this.#isBestLast = false;
  }

  drop(found: QueueBucket): void {
    this.#remove(found);
    this.#droppedCount++;
  }

  #remove(found: QueueBucket): void {
    const classes = this.#classes;
    this.#isBestLast = false;
    if (classes.at(-1) === found) {
      classes.pop();
      return;
    }
    const index = classes.indexOf(found);
    if (index >= 0) classes.splice(index, 1);
  }
}

/** Into a list in order, the best last. */
export function insertSorted(classes: QueueBucket[], found: QueueBucket, compare: CompareClasses): void {
  let low = 0;
  let high = classes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(classes[middle] as QueueBucket, found) > 0) low = middle + 1;
    else high = middle;
  }
  classes.splice(low, 0, found);
}
