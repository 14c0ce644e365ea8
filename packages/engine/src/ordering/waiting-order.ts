/**
 * Queue order over the lines that the queue keeps (`cluster/waiting-lines.ts`): the same order as `QueueOrder`, without
 * reading and sorting all buckets. Serves the buckets that waited when it was made.
 */
import type { TeamName } from "@headroom/model";
import type { CompareClasses } from "../cluster/head-order.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { WaitingLine, WaitingLines } from "../cluster/waiting-lines.ts";
import type { RoundOrder } from "./round-order.ts";

/** A walk along one line. It starts again when the line changes, because the positions then changed. */
interface Walk {
  position: number;
  changes: number;
}

interface WaitingOrderOptions {
  readonly compare: CompareClasses;
  /** Whether a bucket takes part. Called once for each bucket that is reached. */
  readonly takesPart: (bucket: QueueBucket) => boolean;
  readonly team: TeamName | null;
}

export class WaitingOrder implements RoundOrder {
  readonly #waiting: WaitingLines;
  readonly #team: TeamName | null;
  readonly #compare: CompareClasses;
  readonly #takesPart: (bucket: QueueBucket) => boolean;
  /** Buckets that got their first waiting work later do not take part. */
  readonly #listings: number;
  readonly #isDropped = new Map<QueueBucket, boolean>();
  readonly #walks = new Map<WaitingLine, Walk>();

  /** An order of the buckets of one team, or of all teams if `team` is `null`. */
  constructor(waiting: WaitingLines, { compare, takesPart, team }: WaitingOrderOptions) {
    this.#waiting = waiting;
    this.#team = team;
    this.#compare = compare;
    this.#takesPart = takesPart;
    this.#listings = waiting.listings;
  }

  /** The best bucket among those that need at most `acceleratorsMax` whole accelerators. */
  first(acceleratorsMax: number = Number.POSITIVE_INFINITY): QueueBucket | null {
    let best: QueueBucket | null = null;
    // Lines come and go with the work in them.
    const lines = this.#team === null ? this.#waiting.all : this.#waiting.of(this.#team);
    for (const line of lines) {
      if (line.accelerators > acceleratorsMax) continue;
      const bucket = this.#firstIn(line);
      if (bucket !== null && (best === null || this.#compare(bucket, best) < 0)) best = bucket;
    }
    return best;
  }

  #firstIn(line: WaitingLine): QueueBucket | null {
    let walk = this.#walks.get(line);
    if (walk === undefined) this.#walks.set(line, (walk = { position: 0, changes: line.changes }));
    if (walk.changes !== line.changes) {
      walk.position = 0;
      walk.changes = line.changes;
    }
    for (; walk.position < line.buckets.length; walk.position++) {
      const bucket = line.buckets.at(walk.position) as QueueBucket;
      if (!this.#isOut(bucket)) return bucket;
    }
    return null;
  }

  #isOut(bucket: QueueBucket): boolean {
    const known = this.#isDropped.get(bucket);
    if (known !== undefined) return known;
    const isOut = bucket.listing > this.#listings || !this.#takesPart(bucket);
    this.#isDropped.set(bucket, isOut);
    return isOut;
  }

  /** The queue has already filed the bucket by its next head. */
  served(bucket: QueueBucket): void {
    if (bucket.waiting.length === 0) this.#isDropped.set(bucket, true);
  }

  drop(bucket: QueueBucket): void {
    this.#isDropped.set(bucket, true);
  }

  add(bucket: QueueBucket): void {
    this.#isDropped.set(bucket, false);
  }
}
