/**
 * Timers for walltimes, back-offs and other instants, in binary heaps by instant. An entry stays when its reason
 * disappears, and is checked when it is due. So a wakeup can be early but is never late.
 */
import type { AttemptId, PipelineRunId, WorkloadId } from "@headroom/model";

export interface WalltimeTimer {
  readonly kind: "walltime";
  readonly atMs: number;
  readonly attemptId: AttemptId;
}

export type Timer =
  | { readonly kind: "prediction"; readonly atMs: number; readonly attemptId: AttemptId }
  /** The time limit of a checkpoint before a stop. */
  | { readonly kind: "checkpoint"; readonly atMs: number; readonly attemptId: AttemptId }
  /** The end of the time in which a replica must become ready. */
  | { readonly kind: "readiness"; readonly atMs: number; readonly attemptId: AttemptId }
  | { readonly kind: "retry"; readonly atMs: number; readonly workloadId: WorkloadId }
  | { readonly kind: "calendar"; readonly atMs: number }
  | { readonly kind: "schedule"; readonly atMs: number }
  /** `runId`: a step of the run may have timed out. `null`: the clock of a pipeline is due. */
  | { readonly kind: "pipeline"; readonly atMs: number; readonly runId: PipelineRunId | null }
  /** Part of a budget may be used up, or a budget is renewed. */
  | { readonly kind: "budget"; readonly atMs: number };

export class Timers {
  /** A batch takes all of these that are due, so those of one instant need no order. */
  readonly #others = new Heap<Timer>((left, right) => left.atMs < right.atMs);
  /** A batch may take only a part of these, and a restored engine must take the same part. */
  readonly #walltimes = new Heap<WalltimeTimer>((left, right) =>
    left.atMs === right.atMs ? left.attemptId < right.attemptId : left.atMs < right.atMs,
  );

  nextAtMs(): number | null {
    const other = this.#others.first?.atMs;
    const walltime = this.#walltimes.first?.atMs;
    if (other === undefined || walltime === undefined) return other ?? walltime ?? null;
    return Math.min(other, walltime);
  }

  add(timer: Timer | WalltimeTimer): void {
    if (timer.kind === "walltime") this.#walltimes.add(timer);
    else this.#others.add(timer);
  }

  /**
   * Removes and returns one timer that is due at `nowMs`, or `null` if there is none. Among timers of the same instant,
   * the order is arbitrary.
   */
  takeDue(nowMs: number): Timer | null {
    return takeDue(this.#others, nowMs);
  }

  /** Removes and returns the first due walltime, by instant and then by attempt, or `null` if there is none. */
  takeDueWalltime(nowMs: number): WalltimeTimer | null {
    return takeDue(this.#walltimes, nowMs);
  }
}

function takeDue<Each extends { readonly atMs: number }>(heap: Heap<Each>, nowMs: number): Each | null {
  const { first } = heap;
  if (first === undefined || first.atMs > nowMs) return null;
  heap.removeFirst();
  return first;
}

class Heap<Item> {
  readonly #items: Item[] = [];
  readonly #isBefore: (left: Item, right: Item) => boolean;

  constructor(isBefore: (left: Item, right: Item) => boolean) {
    this.#isBefore = isBefore;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  add(item: Item): void {
    const items = this.#items;
    let index = items.length;
    items.push(item);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = items[parent] as Item;
      if (!this.#isBefore(item, above)) break;
      items[index] = above;
      index = parent;
    }
    items[index] = item;
  }

  removeFirst(): void {
    const items = this.#items;
    const last = items.pop() as Item;
    if (items.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#isBefore(items[child + 1] as Item, items[child] as Item)) child++;
      const below = items[child] as Item;
      if (!this.#isBefore(below, last)) break;
      items[index] = below;
      index = child;
    }
    items[index] = last;
  }
}
