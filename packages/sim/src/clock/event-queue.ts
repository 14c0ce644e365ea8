/**
 * The simulator's queue, ordered by (atMs, rank, sequence). Every simulated run spends much of its time here, with one
 * or two entries for each running attempt, so the queue is a binary heap over typed arrays. Entries are never removed
 * early; their owner compares the sequence when they are due and ignores stale ones.
 */

/**
 * Order of entries of the same millisecond. Completions come before expiries, so that the attempt counts as completed;
 * both come before arrivals, so that arrivals can use the freed capacity.
 */
export const ranks = { observation: 0, expiry: 1, arrival: 2, tick: 3 } as const;

/**
 * Rank and sequence are combined in one number. 2^44 entries are enough for any run, and the sum stays a safe integer.
 */
const sequencesPerRank = 2 ** 44;

export class EventQueue {
  #at: Float64Array;
  #order: Float64Array;
  #payload: Int32Array;
  #size = 0;
  #nextSequence = 1;

  constructor(capacity = 1024) {
    this.#at = new Float64Array(capacity);
    this.#order = new Float64Array(capacity);
    this.#payload = new Int32Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** Time of the first entry in ms; `Infinity`: the queue is empty. */
  get nextAtMs(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#at[0]!;
  }

  /** The payload of the first entry. */
  get nextPayload(): number {
    return this.#payload[0]!;
  }

  /** The key that `push` returned for the first entry. */
  get nextKey(): number {
    return this.#order[0]!;
  }

  /** Adds an entry and returns its key, a unique number above zero that contains rank and sequence. */
  push(atMs: number, rank: number, payload: number): number {
    if (this.#size === this.#at.length) this.#grow();
    const order = rank * sequencesPerRank + this.#nextSequence++;
    this.#siftUp({ atMs, order, payload });
    return order;
  }

  /** Removes the first entry. The caller reads the entry's fields before. */
  drop(): void {
    const last = --this.#size;
    if (last > 0) this.#siftDown(this.#at[last]!, this.#order[last]!, this.#payload[last]!);
  }

  /** An independent copy of the queue that continues with the same sequences. */
  fork(): EventQueue {
    const copy = new EventQueue(this.#at.length);
    copy.#at.set(this.#at);
    copy.#order.set(this.#order);
    copy.#payload.set(this.#payload);
    copy.#size = this.#size;
    copy.#nextSequence = this.#nextSequence;
    return copy;
  }

  #siftUp(entry: { atMs: number; order: number; payload: number }): void {
    const at = this.#at;
    const order = this.#order;
    const payload = this.#payload;
    let hole = this.#size++;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (at[parent]! < entry.atMs || (at[parent] === entry.atMs && order[parent]! < entry.order)) break;
      at[hole] = at[parent]!;
      order[hole] = order[parent]!;
      payload[hole] = payload[parent]!;
      hole = parent;
    }
    at[hole] = entry.atMs;
    order[hole] = entry.order;
    payload[hole] = entry.payload;
  }

  #siftDown(atMs: number, entryOrder: number, entryPayload: number): void {
    const at = this.#at;
    const order = this.#order;
    const payload = this.#payload;
    const size = this.#size;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= size) break;
      const right = child + 1;
      if (right < size && (at[right]! < at[child]! || (at[right] === at[child] && order[right]! < order[child]!))) {
        child = right;
      }
      if (atMs < at[child]! || (atMs === at[child] && entryOrder < order[child]!)) break;
      at[hole] = at[child]!;
      order[hole] = order[child]!;
      payload[hole] = payload[child]!;
      hole = child;
    }
    at[hole] = atMs;
    order[hole] = entryOrder;
    payload[hole] = entryPayload;
  }

  #grow(): void {
    const capacity = this.#at.length * 2;
    const at = new Float64Array(capacity);
    const order = new Float64Array(capacity);
    const payload = new Int32Array(capacity);
    at.set(this.#at);
    order.set(this.#order);
    payload.set(this.#payload);
    this.#at = at;
    this.#order = order;
    this.#payload = payload;
  }
}
