/**
 * Timers for walltimes, back-offs and other instants. They are a binary heap by instant. An entry stays when its reason
 * disappears, and is checked when it is due. So a wakeup can be early but is never late.
 */
import type { AttemptId, WorkloadId } from "@headroom/model";

export type Timer =
  | { readonly kind: "walltime"; readonly atMs: number; readonly attemptId: AttemptId }
  | { readonly kind: "prediction"; readonly atMs: number; readonly attemptId: AttemptId }
  /** The time limit of a checkpoint before a stop. */
  | { readonly kind: "checkpoint"; readonly atMs: number; readonly attemptId: AttemptId }
  | { readonly kind: "retry"; readonly atMs: number; readonly workloadId: WorkloadId }
  | { readonly kind: "calendar"; readonly atMs: number }
  | { readonly kind: "schedule"; readonly atMs: number }
  /** Part of a budget may be used up, or a budget is renewed. */
  | { readonly kind: "budget"; readonly atMs: number };

export class Timers {
  readonly #heap: Timer[] = [];

  nextAtMs(): number | null {
    return this.#heap[0]?.atMs ?? null;
  }

  add(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(timer);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Timer;
      if (above.atMs <= timer.atMs) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = timer;
  }

  /**
   * Removes and returns one timer that is due at `nowMs`, or `null` if there is none. Among timers of the same instant,
   * the order is arbitrary.
   */
  takeDue(nowMs: number): Timer | null {
    const top = this.#heap[0];
    if (top === undefined || top.atMs > nowMs) return null;
    this.#removeTop();
    return top;
  }

  #removeTop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Timer;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as Timer).atMs < (heap[child] as Timer).atMs) child++;
      const below = heap[child] as Timer;
      if (below.atMs >= last.atMs) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}
