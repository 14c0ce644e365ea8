/** Order of a list of buckets of one team. The best bucket is last, because for most teams only this bucket is taken. */
import type { CompareClasses } from "../cluster/head-order.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { insertSorted } from "./queue-order.ts";
import type { RoundOrder } from "./round-order.ts";

export class OwnBuckets implements RoundOrder {
  readonly #buckets: QueueBucket[];
  readonly #compareHeads: CompareClasses;

  constructor(buckets: readonly QueueBucket[], compareHeads: CompareClasses) {
    this.#compareHeads = compareHeads;
    this.#buckets = buckets.toSorted((left, right) => compareHeads(right, left));
  }

  first(): QueueBucket | null {
    return this.#buckets.at(-1) ?? null;
  }

  served(bucket: QueueBucket): void {
    this.drop(bucket);
    // The next request is now first in the bucket, so the bucket may have another position among the team's buckets.
    if (bucket.waiting.length > 0 && !bucket.request.isGrowth) this.add(bucket);
  }

  drop(bucket: QueueBucket): void {
    const buckets = this.#buckets;
    if (buckets.at(-1) === bucket) {
      buckets.pop();
      return;
    }
    const index = buckets.indexOf(bucket);
    if (index >= 0) buckets.splice(index, 1);
  }

  add(bucket: QueueBucket): void {
    insertSorted(this.#buckets, bucket, this.#compareHeads);
  }

  /** Sorts the buckets of a user again, whose usage changed. */
  sortAgain(actor: string): void {
    const own = this.#buckets.filter(({ request }) => request.actor === actor);
    for (const each of own) this.drop(each);
    for (const each of own) this.add(each);
  }
}
