/** Requests by operation and class of status, and how long they took. The labels are the operations': a fixed, small set. */

/** Upper bounds in seconds; chosen so that a durable write (1 to 50 ms) and a stuck disk can be told apart. */
export const latencyBoundsS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5] as const;

export interface OperationCounts {
  /** Answers by the first digit of their status, 1 to 5. */
  readonly byStatusClass: Uint32Array;
  /** One bucket for each bound and one for what lies above. */
  readonly buckets: Uint32Array;
  sumS: number;
}

export class RequestCounts {
  readonly #byOperation = new Map<string, OperationCounts>();

  constructor(operations: readonly string[]) {
    for (const operation of operations) {
      this.#byOperation.set(operation, {
        byStatusClass: new Uint32Array(6),
        buckets: new Uint32Array(latencyBoundsS.length + 1),
        sumS: 0,
      });
    }
  }

  record(operation: string, status: number, durationMs: number): void {
    const counts = this.#byOperation.get(operation);
    if (counts === undefined) return;
    const statusClass = Math.floor(status / 100);
    counts.byStatusClass[statusClass] = (counts.byStatusClass[statusClass] ?? 0) + 1;
    const seconds = durationMs / 1000;
    let bucket = 0;
    while (bucket < latencyBoundsS.length && seconds > (latencyBoundsS[bucket] as number)) bucket++;
    counts.buckets[bucket] = (counts.buckets[bucket] as number) + 1;
    counts.sumS += seconds;
  }

  entries(): IterableIterator<[string, OperationCounts]> {
    return this.#byOperation.entries();
  }
}
