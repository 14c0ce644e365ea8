/**
 * The buckets with waiting work in the order of their heads, one line for each team and number of whole accelerators. They
 * are kept up to date with the queue, so that a round reads only the buckets that may start and not every bucket.
 */
import { invariant, InvariantError, SortedList } from "@headroom/model";
import type { TeamName } from "@headroom/model";
import type { CompareClasses } from "./head-order.ts";
import type { QueueBucket } from "./queue.ts";
import { wholeNeeded } from "./request.ts";
import type { WorkloadEntity } from "../state/state.ts";

/** Buckets whose requests need the same number of whole accelerators, the best head first. */
export interface WaitingLine {
  /** Number of whole accelerators that each request needs, 0 for parts of accelerators and for task groups. */
  readonly accelerators: number;
  readonly buckets: SortedList<QueueBucket>;
  /** Incremented at every change of the list. */
  changes: number;
}

interface TeamLines {
  /** At most one for each number of whole accelerators, in no particular order. */
  readonly lines: WaitingLine[];
  bucketCount: number;
}

const NO_LINES: readonly WaitingLine[] = [];

export class WaitingLines {
  readonly #compare: CompareClasses;
  readonly #teams = new Map<TeamName, TeamLines>();
  readonly #all: WaitingLine[] = [];
  /** Number of waiting buckets by the number of whole accelerators that their requests need. */
  readonly #sizes = new Map<number, number>();
  readonly #byDuration = new SortedList<QueueBucket>(
    (left, right) => left.request.durationMs - right.request.durationMs || left.ordinal - right.ordinal,
  );
  /** Number of times that a bucket without waiting work got some. */
  listings = 0;

  constructor(compare: CompareClasses) {
    this.#compare = compare;
  }

  /** The lines of all teams, in no particular order. */
  get all(): readonly WaitingLine[] {
    return this.#all;
  }

  /** The teams with waiting work. */
  get teams(): Iterable<TeamName> {
    return this.#teams.keys();
  }

  get teamCount(): number {
    return this.#teams.size;
  }

  /** The lines of one team; none if no work of the team waits. */
  of(team: TeamName): readonly WaitingLine[] {
    return this.#teams.get(team)?.lines ?? NO_LINES;
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
    for (const accelerators of this.#sizes.keys()) least = Math.min(least, accelerators);
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
    const own = this.#teams.get(team);
    if (own === undefined) this.#teams.set(team, { lines: [], bucketCount: 1 });
    else own.bucketCount++;
    this.#count(bucket, 1);
    this.#byDuration.insert(bucket);
    this.#file(bucket);
  }

  /** Removes a bucket that has no waiting work any more; `takeOut` has removed it from its line. */
  unlist(bucket: QueueBucket): void {
    const { team } = bucket.request;
    const own = this.#linesOf(team);
    own.bucketCount--;
    if (own.bucketCount === 0) this.#teams.delete(team);
    this.#count(bucket, -1);
    this.#byDuration.remove(bucket);
  }

  #count({ request }: QueueBucket, change: 1 | -1): void {
    const accelerators = wholeNeeded(request);
    const count = (this.#sizes.get(accelerators) ?? 0) + change;
    if (count > 0) this.#sizes.set(accelerators, count);
    else this.#sizes.delete(accelerators);
  }

  #linesOf(team: TeamName): TeamLines {
    const own = this.#teams.get(team);
    invariant(own !== undefined, "the team has waiting work");
    return own;
  }

  /** The line that the bucket is in. Every start asks for it, so it is found without a closure. */
  #lineOf({ request }: QueueBucket): WaitingLine {
    const accelerators = wholeNeeded(request);
    for (const line of this.#linesOf(request.team).lines) if (line.accelerators === accelerators) return line;
    throw new InvariantError("the bucket is in its line");
  }

  /** Puts a bucket into its line by its present head. */
  #file(bucket: QueueBucket): void {
    const { lines } = this.#linesOf(bucket.request.team);
    const accelerators = wholeNeeded(bucket.request);
    let line = lines.find((each) => each.accelerators === accelerators);
    if (line === undefined) {
      line = { accelerators, buckets: new SortedList(this.#compare), changes: 0 };
      lines.push(line);
      this.#all.push(line);
    }
    line.buckets.insert(bucket);
    line.changes++;
  }

  /** Takes a bucket out of its line, before its last work leaves. */
  takeOut(bucket: QueueBucket): void {
    const { lines } = this.#linesOf(bucket.request.team);
    const line = this.#lineOf(bucket);
    line.buckets.remove(bucket);
    line.changes++;
    if (line.buckets.length > 0) return;
    lines.splice(lines.indexOf(line), 1);
    this.#all.splice(this.#all.indexOf(line), 1);
  }

  /** Inserts work before the head of a bucket, or removes its head. The bucket keeps other work, and is filed again. */
  changeHead(bucket: QueueBucket, change: "insert" | "remove", workload: WorkloadEntity): void {
    const line = this.#lineOf(bucket);
    const isAlone = line.buckets.length === 1;
    if (!isAlone) line.buckets.remove(bucket);
    bucket.waiting[change](workload);
    if (!isAlone) line.buckets.insert(bucket);
    line.changes++;
  }

  /** Changes the planned run time of a bucket with waiting work. */
  replan(bucket: QueueBucket, change: () => void): void {
    this.#byDuration.remove(bucket);
    change();
    this.#byDuration.insert(bucket);
  }
}
