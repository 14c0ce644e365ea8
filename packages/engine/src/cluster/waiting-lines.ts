/**
 * The buckets with waiting work in the order of their heads, one line for each number of whole accelerators. They are kept up to
 * date with the queue, so that a round reads only the buckets that may start and not every bucket.
 */
import { SortedList } from "@headroom/model";
import type { TeamName } from "@headroom/model";
import type { CompareClasses } from "./head-order.ts";
import type { QueueBucket } from "./queue.ts";
import { wholeNeeded } from "./request.ts";

/** Buckets whose requests need the same number of whole accelerators, the best head first. */
export interface WaitingLine {
  /** Number of whole accelerators that each request needs, 0 for parts of accelerators and for task groups. */
  readonly accelerators: number;
  readonly buckets: SortedList<QueueBucket>;
  /** Incremented at every change of the list. */
  changes: number;
}

export class WaitingLines {
  readonly #compare: CompareClasses;
  readonly #lines = new Map<number, WaitingLine>();
  readonly #byDuration = new SortedList<QueueBucket>(
    (left, right) => left.request.durationMs - right.request.durationMs || left.ordinal - right.ordinal,
  );
  readonly #teams = new Map<TeamName, number>();
  /** Number of times that a bucket without waiting work got some. */
  listings = 0;

  constructor(compare: CompareClasses) {
    this.#compare = compare;
  }

  /** The lines with at least one bucket. */
  get lines(): Iterable<WaitingLine> {
    return this.#lines.values();
  }

  get teamCount(): number {
    return this.#teams.size;
  }

  /** The only team with waiting work; `null` if there are none or several. */
  get onlyTeam(): TeamName | null {
    if (this.#teams.size !== 1) return null;
    for (const team of this.#teams.keys()) return team;
    return null;
  }

  /** The smallest number of whole accelerators of any waiting request; infinite if none waits. */
  get acceleratorsMin(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { accelerators } of this.#lines.values()) least = Math.min(least, accelerators);
    return least;
  }

  /** The shortest planned run time of any waiting request in ms; infinite if none waits. */
  get durationMinMs(): number {
    return this.#byDuration.first()?.request.durationMs ?? Number.POSITIVE_INFINITY;
  }

  /** Adds a bucket that has waiting work since now. */
  list(bucket: QueueBucket): void {
    bucket.listing = ++this.listings;
    const { team } = bucket.request;
    this.#teams.set(team, (this.#teams.get(team) ?? 0) + 1);
    this.#byDuration.insert(bucket);
    this.file(bucket);
  }

  /** Removes a bucket that has no waiting work any more; `takeOut` has removed it from its line. */
  unlist(bucket: QueueBucket): void {
    const { team } = bucket.request;
    const count = (this.#teams.get(team) ?? 0) - 1;
    if (count > 0) this.#teams.set(team, count);
    else this.#teams.delete(team);
    this.#byDuration.remove(bucket);
  }

  /** Puts a bucket into its line by its present head. */
  file(bucket: QueueBucket): void {
    const accelerators = wholeNeeded(bucket.request);
    let line = this.#lines.get(accelerators);
    if (line === undefined) {
      line = { accelerators, buckets: new SortedList(this.#compare), changes: 0 };
      this.#lines.set(accelerators, line);
    }
    line.buckets.insert(bucket);
    line.changes++;
  }

  /** Takes a bucket out of its line, before its head changes. */
  takeOut(bucket: QueueBucket): void {
    const accelerators = wholeNeeded(bucket.request);
    const line = this.#lines.get(accelerators);
    if (line === undefined) return;
    line.buckets.remove(bucket);
    line.changes++;
    if (line.buckets.length === 0) this.#lines.delete(accelerators);
  }

  /** Changes the planned run time of a bucket with waiting work. */
  replan(bucket: QueueBucket, change: () => void): void {
    this.#byDuration.remove(bucket);
    change();
    this.#byDuration.insert(bucket);
  }
}
